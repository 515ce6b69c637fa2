! SPDX-License-Identifier: Apache-2.0
! The same in Fortran: every rank brings a number, all print the mean. `hemiola launch -n 4 ./mean_fortran`
module hemiola
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), parameter :: hemiola_ok = 0, hemiola_float64 = 11, hemiola_average = 4
  interface
    integer(c_int) function hemiola_init(timeout_s, comm) bind(c)
      import
      real(c_double), value :: timeout_s
      type(c_ptr), intent(out) :: comm
    end function
    integer(c_int) function hemiola_rank(comm) bind(c)
      import
      type(c_ptr), value :: comm
    end function
    integer(c_int) function hemiola_size(comm) bind(c)
      import
      type(c_ptr), value :: comm
    end function
    integer(c_int) function hemiola_all_reduce(comm, input, output, count, dtype, op) bind(c)
      import
      type(c_ptr), value :: comm, input, output
      integer(c_int64_t), value :: count
      integer(c_int), value :: dtype, op
    end function
    type(c_ptr) function hemiola_error(comm) bind(c)
      import
      type(c_ptr), value :: comm
    end function
    integer(c_int) function hemiola_close(comm) bind(c)
      import
      type(c_ptr), value :: comm
    end function
  end interface
contains
  subroutine check(result, comm)
    integer(c_int), intent(in) :: result
    type(c_ptr), intent(in) :: comm
    character(kind=c_char), pointer :: text(:)
    integer :: length
    if (result == hemiola_ok) return
    call c_f_pointer(hemiola_error(comm), text, [4096])
    length = findloc(text, c_null_char, 1) - 1
    print *, text(:length)
    error stop
  end subroutine
end module

program mean
  use hemiola
  implicit none
  type(c_ptr) :: comm
  real(c_double), target :: values(1)
  call check(hemiola_init(0.0_c_double, comm), c_null_ptr)
  values(1) = hemiola_rank(comm)
  call check(hemiola_all_reduce(comm, c_loc(values), c_loc(values), 1_c_int64_t, hemiola_float64, hemiola_average), comm)
  print '(a, i0, a, i0, a, f4.2)', 'rank ', hemiola_rank(comm), ' of ', hemiola_size(comm), ': the mean is ', values(1)
  call check(hemiola_close(comm), c_null_ptr)
end program
