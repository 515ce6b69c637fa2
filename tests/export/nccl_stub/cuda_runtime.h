// SPDX-License-Identifier: Apache-2.0
// The names of CUDA's runtime that an exported program uses, with the host's memory as the device's.
#pragma once
#include <cstdlib>
#include <cstring>

#define __global__
#define __host__
#define __device__

struct dim3 {
  unsigned x;
  explicit dim3(unsigned count) : x(count) {}
};
// One thread does the work of all.
static const dim3 gridDim(1), blockDim(1);
struct Zero {
  unsigned x = 0;
};
static const Zero blockIdx, threadIdx;

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess, cudaErrorUnknown };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

inline const char* cudaGetErrorString(cudaError_t) {
  return "an error of the stand-in";
}
inline cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t*) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3, dim3, void** arguments, size_t, cudaStream_t) {
  using Kernel = void (*)(float*, const float*, size_t);
  reinterpret_cast<Kernel>(const_cast<void*>(kernel))(*static_cast<float**>(arguments[0]),
                                                      *static_cast<const float**>(arguments[1]),
                                                      *static_cast<size_t*>(arguments[2]));
  return cudaSuccess;
}
