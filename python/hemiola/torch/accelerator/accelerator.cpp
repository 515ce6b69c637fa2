// SPDX-License-Identifier: Apache-2.0
// The operations of a group that matter most, without Python between PyTorch and the engine: compiled against one
// PyTorch, on request, and used where it is there. It calls the core through a table of C functions, so that there is one
// engine; ranks with and without it work together. What it does not take, it leaves to the group's methods in Python.
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "operation_table.h"

namespace hemiola_torch {

namespace py = pybind11;
using c10d::OpType;
using Tensors = std::vector<at::Tensor>;
using FutureResult = c10::intrusive_ptr<c10::ivalue::Future>;

constexpr double kForever_s = std::numeric_limits<double>::infinity();

const HemiolaOperationTable* table = nullptr;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Lets go of the interpreter's lock where this thread has it: PyTorch calls with and without.
class Unlocked {
 public:
  Unlocked() {
    if (PyGILState_Check() != 0) release_.emplace();
  }

 private:
  std::optional<py::gil_scoped_release> release_;
};

// A Python object in C++ that any thread may let go of; when the interpreter ends it stays.
class Kept {
 public:
  Kept() = default;
  explicit Kept(py::object object) : object_(std::move(object)) {}
  Kept(Kept&&) = default;
  Kept& operator=(Kept&&) = delete;
  ~Kept() {
    if (!object_) return;
    if (Py_IsInitialized() == 0) {
      object_.release();
      return;
    }
    const py::gil_scoped_acquire lock;
    object_ = py::object();
  }
  const py::object& get() const { return object_; }

 private:
  py::object object_;
};

// An operation of the core, held until nobody asks for it any more.
class Operation {
 public:
  explicit Operation(HemiolaPending* pending) : pending_(pending) {}
  ~Operation() { table->forget(pending_); }
  Operation(const Operation&) = delete;

  HemiolaPending* get() const { return pending_; }

 private:
  HemiolaPending* pending_;
};

// What the group's record says of an operation; hemiola.torch.recorder shows it as an Entry. Guarded by the GIL. Times are
// of the monotonic clock, and 0 where they are still to come.
struct Note {
  const char* kind;
  std::int64_t given = 0, written = 0, nbytes = 0;  // elements of input and output, bytes of the input
  std::optional<at::ScalarType> type;
  std::int64_t called_ns = now_ns(), ended_ns = 0;
  std::string error;                     // empty: none so far
  std::shared_ptr<Operation> operation;  // null: its caller waits for it
};

// A group's latest operations, and what all of them add up to by kind.
class Notes {
 public:
  std::shared_ptr<Note> add(Note note) {
    auto& [count, nbytes] = totals_[note.kind];
    ++count;
    nbytes += note.nbytes;
    if (latest_.size() == kRemembered) latest_.pop_front();
    return latest_.emplace_back(std::make_shared<Note>(std::move(note)));
  }
  const std::deque<std::shared_ptr<Note>>& latest() const { return latest_; }
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> totals() const {
    return {totals_.begin(), totals_.end()};
  }

 private:
  static constexpr std::size_t kRemembered = 1024;  // as hemiola.torch.recorder.REMEMBERED
  std::deque<std::shared_ptr<Note>> latest_;
  std::map<const char*, std::pair<std::int64_t, std::int64_t>> totals_;
};

// Raises in Python what has been set, as C++ sees it.
[[noreturn]] void raise_set_error() {
  throw py::error_already_set();
}

// The operation whose future this thread ends: what callbacks in C++ issue has its place behind it.
struct Ending {
  std::string name;  // empty: it ends none
  int issued = 0;
};
thread_local Ending ending;

// Threads that end a group's futures in the order in which its operations end. A thread that ends one runs its callbacks,
// which may wait for any other future; so there are as many as callbacks that wait at one time, and one more. Callbacks
// in C++ run without the interpreter's lock, and hold up no operation.
class Completion : public std::enable_shared_from_this<Completion> {
 public:
  using End = std::function<void()>;

  void when_over(const Operation& operation, End end) {
    bool is_closed = false;
    {
      const std::lock_guard lock(mutex_);
      is_closed = closed_;
      if (!is_closed) {
        ++expected_;
        have_idle_thread();
      }
    }
    if (is_closed) {
      end();
      return;
    }
    const auto post = [](void* it) {
      const std::unique_ptr<Expected> expected(static_cast<Expected*>(it));
      expected->completion->post(std::move(expected->end));
    };
    table->when_over(operation.get(), post, new Expected{shared_from_this(), std::move(end)});
  }

  // Ends the threads once the operations that they were told of are over; a long callback may outlive this.
  void close() {
    constexpr auto longest_callback = std::chrono::seconds(5);
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    if (threads_.count(std::this_thread::get_id()) == 0)
      changed_.wait_for(lock, longest_callback, [this] { return threads_.empty(); });
  }

 private:
  struct Expected {
    std::shared_ptr<Completion> completion;
    End end;
  };

  void post(End end) {
    const std::lock_guard lock(mutex_);
    over_.push_back(std::move(end));
    changed_.notify_one();
  }

  // Called locked.
  void have_idle_thread() {
    if (idle_ > 0) return;
    ++idle_;
    std::thread([self = shared_from_this()] { self->run(); }).detach();
  }

  void run() {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    while (true) {
      changed_.wait(lock, [this] { return !over_.empty() || (closed_ && expected_ == 0); });
      if (over_.empty()) break;
      {
        const End next = std::move(over_.front());
        over_.pop_front();
        --idle_;
        if (--expected_ > 0)
          have_idle_thread();
        else if (closed_)
          changed_.notify_all();
        lock.unlock();
        next();
      }
      lock.lock();
      ++idle_;
    }
    threads_.erase(std::this_thread::get_id());
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<End> over_;
  std::int64_t expected_ = 0;
  std::set<std::thread::id> threads_;
  int idle_ = 0;
  bool closed_ = false;
};

// An operation as PyTorch holds it. One that its caller has waited for has no `operation`: it is over, and went well.
class Work : public c10d::Work {
 public:
  // `place` is the name that all ranks give the operation.
  Work(OpType type, Tensors result, std::string place)
      : c10d::Work(-1, type), result_(std::move(result)), place_(std::move(place)) {}

  // Its result has a chunk of each rank, which callers see as tensors of their own.
  void show_in_chunks(std::int64_t count) { chunk_count_ = count; }

  // Where callbacks of its future stand; empty: it is over, and they run at once.
  std::string place() const { return operation_ ? place_ : std::string(); }

  // `failed` takes the operation's note and an error of the core, and returns the one to be raised.
  void run_in(std::shared_ptr<Note> note, std::shared_ptr<Completion> completion,
              std::shared_ptr<const Kept> failed) {
    operation_ = note->operation;
    completion_ = std::move(completion);
    note_ = std::move(note);
    failed_ = std::move(failed);
  }
  void has_run(std::int64_t began_ns, std::int64_t ended_ns) { times_ns_ = {began_ns, ended_ns}; }

  bool isCompleted() override { return !operation_ || table->is_over(operation_->get()) == 1; }

  bool isSuccess() const override {
    HemiolaFailure* failure = nullptr;
    const int over = poll(&failure);
    if (failure != nullptr) exception_of(failure);
    return over == 1;
  }

  std::exception_ptr exception() const override {
    HemiolaFailure* failure = nullptr;
    return poll(&failure) == -1 ? exception_of(failure) : nullptr;
  }

  // What it has raised, as Python sees it; None while it runs, and where it went well.
  py::object python_exception() const {
    HemiolaFailure* failure = nullptr;
    if (poll(&failure) != -1) return py::none();
    return raised(failure);
  }

  std::vector<at::Tensor> result() override {
    wait();
    return shown();
  }

  void synchronize() override { wait(); }

  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override {
    if (!operation_) return true;
    const double limit_s = timeout > kNoTimeout ? 1e-3 * static_cast<double>(timeout.count()) : kForever_s;
    HemiolaFailure* failure = nullptr;
    const int over = wait_unlocked(limit_s, &failure);
    if (over == 1) return true;
    const py::gil_scoped_acquire lock;
    if (over == 0) {
      const std::string text = "hemiola: Timed out waiting: the operation is still running after " +
                               py::str(py::float_(limit_s)).cast<std::string>() + " s";
      PyErr_SetString(py::module_::import("hemiola.torch.errors").attr("GroupTimeoutError").ptr(),
                      text.c_str());
      raise_set_error();
    }
    const py::object error = raised(failure);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    raise_set_error();
  }

  FutureResult getFuture() override {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
    if (!operation_) {
      future->markCompleted(c10::IValue(shown()));
      return future;
    }
    const auto self = c10::intrusive_ptr<Work>::unsafe_reclaim_from_nonowning(this);
    completion_->when_over(*operation_, [self, future] { self->complete(future.get()); });
    return future;
  }

  float getDuration() const override {
    const py::gil_scoped_acquire lock;
    auto [began_ns, ended_ns] = times_ns_;
    if (operation_) {
      const py::object pending = py::reinterpret_steal<py::object>(table->as_python(operation_->get()));
      if (!pending) raise_set_error();
      std::tie(began_ns, ended_ns) = pending.attr("times_ns").cast<std::pair<std::int64_t, std::int64_t>>();
    }
    if (ended_ns == 0)
      throw std::runtime_error("hemiola: expected an operation that is over and has times, found another");
    return static_cast<float>(1e-6 * static_cast<double>(ended_ns - began_ns));
  }

 private:
  // As of the table's `wait`, at once.
  int poll(HemiolaFailure** failure) const {
    return operation_ ? table->wait(operation_->get(), 0, failure) : 1;
  }

  int wait_unlocked(double limit_s, HemiolaFailure** failure) const {
    const Unlocked unlocked;
    return table->wait(operation_->get(), limit_s, failure);
  }

  Tensors shown() const { return chunk_count_ == 0 ? result_ : result_[0].chunk(chunk_count_); }

  // Gives a future its value or its error. A Python exception in it would need the interpreter wherever it goes.
  void complete(c10::ivalue::Future* future) const {
    HemiolaFailure* failure = nullptr;
    const Ending before = std::exchange(ending, {place_ + "~"});
    if (wait_unlocked(kForever_s, &failure) == 1)
      future->markCompleted(c10::IValue(shown()));
    else
      future->setError(exception_of(failure));
    ending = before;
  }

  std::exception_ptr exception_of(HemiolaFailure* failure) const {
    const py::gil_scoped_acquire lock;
    const py::object error = raised(failure);
    const std::string text = py::str(py::type::of(error).attr("__name__")).cast<std::string>() + ": " +
                             py::str(error).cast<std::string>();
    return std::make_exception_ptr(std::runtime_error(text));
  }

  // The error to be raised; the group learns of it. A signal's is nobody else's.
  py::object raised(HemiolaFailure* failure) const {
    table->raise(failure);
    const py::error_already_set error;
    if (PyErr_GivenExceptionMatches(error.type().ptr(), PyExc_Exception) == 0) return error.value();
    return failed_->get()(note_, error.value());
  }

  const Tensors result_;
  const std::string place_;
  std::int64_t chunk_count_ = 0;
  std::shared_ptr<Operation> operation_;
  std::shared_ptr<Completion> completion_;
  std::shared_ptr<Note> note_;
  std::shared_ptr<const Kept> failed_;
  std::pair<std::int64_t, std::int64_t> times_ns_{0, 0};
};

using WorkResult = std::optional<c10::intrusive_ptr<Work>>;

// Whether a tensor's memory can be used as it is: on the CPU, of its own, with its elements side by side.
bool is_plain(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return tensor.is_cpu() && tensor.layout() == c10::kStrided && !impl->is_python_dispatch() &&
         impl->has_storage() && tensor.numel() > 0 && !tensor.is_conj() && !tensor.is_neg();
}

// `asyncOp` is younger than the oldest PyTorch that has the rest: without it everything is asynchronous.
template <typename Options>
auto is_asynchronous(const Options& options, int) -> decltype(options.asyncOp) {
  return options.asyncOp;
}
template <typename Options>
bool is_asynchronous(const Options&, long) {
  return true;
}

// A group's operations. Each method returns a Work, or nothing where the arguments are for the group's own method.
class Operations {
 public:
  using Names = std::map<int, std::string>;
  using TypeNames = std::map<at::ScalarType, std::string>;

  // `values` and `contents`: by PyTorch's type what its elements are to the core, to be reduced and to be moved.
  // `failed` is that of the group's Recorder.
  Operations(py::object communicator, double own_limit_s, const Names& ops, const TypeNames& values,
             const TypeNames& contents, py::object failed)
      : communicator_(std::move(communicator)),
        failed_(std::make_shared<const Kept>(std::move(failed))),
        own_limit_s_(own_limit_s),
        limit_s(own_limit_s) {
    rank_count_ = communicator_.attr("rank_count").cast<std::int64_t>();
    for (const auto& [number, name] : ops) ops_[number] = table->op(name.c_str());
    for (const auto& [type, name] : values) values_[type] = table->dtype(name.c_str());
    for (const auto& [type, name] : contents) contents_[type] = table->dtype(name.c_str());
  }

  WorkResult all_reduce(const Tensors& tensors, const c10d::AllreduceOptions& options) {
    if (tensors.size() != 1) return std::nullopt;
    const at::Tensor& tensor = tensors[0];
    const auto op = ops_.find(static_cast<int>(options.reduceOp.op_));
    if (op == ops_.end() || !is_plain(tensor) || !tensor.is_non_overlapping_and_dense()) return std::nullopt;
    return run(kAllReduce, op->second, 0, &tensor, &tensor, values_, tensors, options);
  }

  WorkResult broadcast(const Tensors& tensors, const c10d::BroadcastOptions& options) {
    if (tensors.size() != 1 || options.rootTensor != 0 || options.rootRank < 0 ||
        options.rootRank >= rank_count_)
      return std::nullopt;
    const at::Tensor& tensor = tensors[0];
    if (!is_plain(tensor) || !tensor.is_non_overlapping_and_dense()) return std::nullopt;
    return run(kBroadcast, 0, options.rootRank, &tensor, &tensor, contents_, tensors, options);
  }

  WorkResult all_gather(const at::Tensor& output, const at::Tensor& input,
                        const c10d::AllgatherOptions& options) {
    if (!fit(output, input)) return std::nullopt;
    return run(kAllGather, 0, 0, &input, &output, contents_, {output}, options);
  }

  WorkResult reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) {
    const auto op = ops_.find(static_cast<int>(options.reduceOp.op_));
    if (op == ops_.end() || !fit(output, input)) return std::nullopt;
    return run(kReduceScatter, op->second, 0, &input, &output, values_, {output}, options);
  }

  // In equal blocks.
  WorkResult all_to_all(const at::Tensor& output, const at::Tensor& input,
                        const c10d::AllToAllOptions& options) {
    if (!fit(output, input)) return std::nullopt;
    return run(kAllToAll, 0, 0, &input, &output, contents_, {output}, options);
  }

  WorkResult barrier(const c10d::BarrierOptions& options) {
    return run(kBarrier, 0, 0, nullptr, nullptr, values_, {}, options);
  }

  void close() {
    const py::gil_scoped_release unlocked;
    completion_->close();
  }

 private:
  struct Kind {
    const char* name;
    OpType type;
  };
  static constexpr Kind kAllReduce{"all_reduce", OpType::ALLREDUCE},
      kBroadcast{"broadcast", OpType::BROADCAST}, kAllGather{"all_gather", OpType::ALLGATHER},
      kReduceScatter{"reduce_scatter", OpType::REDUCE_SCATTER}, kAllToAll{"all_to_all", OpType::ALLTOALL},
      kBarrier{"barrier", OpType::BARRIER};
  using Types = std::map<at::ScalarType, int>;

  static bool fit(const at::Tensor& output, const at::Tensor& input) {
    return is_plain(output) && is_plain(input) && output.is_contiguous() && input.is_contiguous() &&
           output.scalar_type() == input.scalar_type();
  }

  template <typename Options>
  WorkResult run(const Kind& kind, int op, std::int64_t root, const at::Tensor* input,
                 const at::Tensor* output, const Types& types, Tensors result, const Options& options) {
    if (!ending.name.empty()) return std::nullopt;
    HemiolaCall call{};
    call.kind = table->kind(kind.name);
    call.op = op;
    call.root = root;
    call.timeout_s = limit_of(options.timeout);
    call.input_count = call.output_count = -1;
    Note said{kind.name};
    if (input != nullptr) {
      const auto type = types.find(input->scalar_type());
      if (type == types.end()) return std::nullopt;
      call.dtype = type->second;
      call.input = input->data_ptr();
      call.input_count = input->numel();
      call.output = output->data_ptr();
      call.output_count = output->numel();
      said.given = call.input_count;
      said.written = call.output_count;
      said.type = input->scalar_type();
      said.nbytes = static_cast<std::int64_t>(input->nbytes());
    }
    ++count;
    ++number;
    const std::shared_ptr<Note> note = notes->add(std::move(said));
    auto work = c10::make_intrusive<Work>(kind.type, std::move(result), name + "/" + std::to_string(number));
    if (kind.type == OpType::ALLGATHER) work->show_in_chunks(rank_count_);
    if (!is_asynchronous(options, 0)) {
      if (table->run(communicator_.ptr(), &call) != 0) fail(note);
      note->ended_ns = now_ns();
      work->has_run(note->called_ns, note->ended_ns);
      return work;
    }
    // The arrays live as long as the operation, whatever becomes of the Work.
    auto owner = std::make_unique<Tensors>(input == nullptr ? Tensors{} : Tensors{*input, *output});
    HemiolaPending* pending = table->start(
        communicator_.ptr(), &call, [](void* it) { delete static_cast<Tensors*>(it); }, owner.release());
    if (pending == nullptr) fail(note);
    note->operation = std::make_shared<Operation>(pending);
    work->run_in(note, completion_, failed_);
    return work;
  }

  // Raises what the core has set, as PyTorch's scripts expect it.
  [[noreturn]] void fail(const std::shared_ptr<Note>& note) const {
    const py::error_already_set error;
    if (PyErr_GivenExceptionMatches(error.type().ptr(), PyExc_Exception) == 0) throw error;
    const py::object raised = failed_->get()(note, error.value());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
    raise_set_error();
  }

  double limit_of(std::chrono::milliseconds asked) const {
    const double asked_s = 1e-3 * static_cast<double>(asked.count());
    const double found_s = asked > kNoTimeout ? asked_s : limit_s;
    return found_s == own_limit_s_ ? 0 : found_s;
  }

  py::object communicator_;
  std::shared_ptr<const Kept> failed_;
  std::map<int, int> ops_;
  Types values_, contents_;
  std::shared_ptr<Completion> completion_ = std::make_shared<Completion>();
  std::int64_t rank_count_ = 0;
  double own_limit_s_;  // what the communicator takes where none is passed

 public:
  double limit_s;           // how long an operation may take that does not say it
  std::int64_t count = 0;   // of those begun
  std::int64_t number = 0;  // of the group's latest collective, whoever runs it
  std::string name;         // the group's
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};

// The future as PyTorch's own method returns it; hemiola.torch.callbacks learns of its place.
py::object followed_future(const py::object& work) {
  py::object future = py::type::of<c10d::Work>().attr("get_future")(work);
  const std::string place = work.cast<const Work&>().place();
  if (place.empty()) return future;
  return py::module_::import("hemiola.torch.callbacks").attr("followed_by_name")(future, place);
}

}  // namespace hemiola_torch

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  using namespace hemiola_torch;
  table = static_cast<const HemiolaOperationTable*>(PyCapsule_Import(HEMIOLA_OPERATION_TABLE, 0));
  if (table == nullptr) throw py::error_already_set();
  if (table->version != HEMIOLA_OPERATION_TABLE_VERSION)
    throw std::runtime_error("hemiola: the accelerator was compiled for another version of the core");
  py::class_<Work, c10d::Work, c10::intrusive_ptr<Work>>(module, "Work")
      .def("exception", &Work::python_exception)
      .def("get_future", &followed_future)
      .def("is_success", &Work::isSuccess)
      .def("result", &Work::result, py::call_guard<py::gil_scoped_release>());
  module.def("issued_by_callback", []() -> std::optional<std::string> {
    if (ending.name.empty()) return std::nullopt;
    return ending.name + ":" + std::to_string(ending.issued++);
  });
  py::class_<Note, std::shared_ptr<Note>>(module, "Note")
      .def_readonly("kind", &Note::kind)
      .def_property_readonly("sizes", [](const Note& note) { return std::pair(note.given, note.written); })
      .def_readonly("dtype", &Note::type)
      .def_readonly("called_ns", &Note::called_ns)
      .def_readwrite("ended_ns", &Note::ended_ns)
      .def_readwrite("error", &Note::error)
      .def_property_readonly("pending", [](const Note& note) -> py::tuple {
        if (!note.operation) return py::tuple();
        const auto shown = py::reinterpret_steal<py::object>(table->as_python(note.operation->get()));
        if (!shown) raise_set_error();
        return py::make_tuple(shown);
      });
  py::class_<Notes, std::shared_ptr<Notes>>(module, "Notes")
      .def("latest", &Notes::latest)
      .def("totals", &Notes::totals);
  py::class_<Operations>(module, "Operations")
      .def(py::init<py::object, double, const Operations::Names&, const Operations::TypeNames&,
                    const Operations::TypeNames&, py::object>())
      .def_readwrite("limit_s", &Operations::limit_s)
      .def_readonly("count", &Operations::count)
      .def_readwrite("number", &Operations::number)
      .def_readwrite("name", &Operations::name)
      .def("all_reduce", &Operations::all_reduce)
      .def("broadcast", &Operations::broadcast)
      .def("all_gather", &Operations::all_gather)
      .def("reduce_scatter", &Operations::reduce_scatter)
      .def("all_to_all", &Operations::all_to_all)
      .def("barrier", &Operations::barrier)
      .def_readonly("notes", &Operations::notes)
      .def("close", &Operations::close);
}
