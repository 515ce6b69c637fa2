// SPDX-License-Identifier: Apache-2.0
// Codecs beside a memcpy of the dense bytes on the same core: compress (scan and index), decompress, add every element, add
// where zeros are left out; slices of 1 MiB from memory, of 256 KiB in the second-level cache, every slice with other
// data; and bytes over the entropy of random data. Each slice is timed with a memcpy before it, the tables have medians of
// the ratios (above 1: faster than memcpy) with their quartiles.
//   cmake --build build/<folder> --target codecs_benchmark && build/<folder>/codecs_benchmark [SET|FORMAT|smallest|1|2|4|8 …]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/codec/decoder.hpp"
#include "hemiola/codec/encoder.hpp"
#include "hemiola/runtime/executor/host/combine.hpp"

namespace {

using namespace hemiola;
using codec::Format;

constexpr double kSparsities[] = {0, 0.01, 0.05, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999};
constexpr std::size_t kArrayBytes = 64 << 20;
constexpr DType kDTypes[] = {DType::uint8, DType::float16, DType::float32, DType::float64};

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

/// As the runtime's buffers: at a page, and touched before anything is timed.
Memory memory_of(std::size_t bytes) {
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)));
  std::memset(memory.get(), 1, bytes);
  return memory;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Values near 1, so that sums stay ordinary numbers; in runs of about `run`.
void fill(std::byte* array, DType dtype, std::size_t bytes, double sparsity, std::uint32_t run,
          std::uint64_t seed) {
  Random random(seed);
  const std::size_t width = codec::element_bytes(dtype);
  const std::uint64_t one = dtype == DType::float64   ? 0x3ff0000000000000
                            : dtype == DType::float32 ? 0x3f800000
                                                      : 0x3c00;
  std::memset(array, 0, bytes);
  bool keep = false;
  for (std::size_t i = 0; i < bytes / width; ++i) {
    if (run == 1 || random.below(run) == 0) keep = random.uniform() >= sparsity;
    if (!keep) continue;
    const std::uint64_t bits = width == 1 ? 1 + random.below(255) : one + random.below(256);
    std::memcpy(array + i * width, &bits, width);
  }
}

/// Median and quartiles.
struct Spread {
  double low, median, high;

  explicit Spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    low = values[values.size() / 4], median = values[values.size() / 2], high = values[values.size() * 3 / 4];
  }
};

/// One array in slices, their messages, and an accumulator: 64 MiB each.
class Bench {
 public:
  Bench(const codec::Kernels& kernels, DType dtype, std::size_t slice_bytes)
      : kernels_(kernels),
        dtype_(dtype),
        slice_bytes_(slice_bytes),
        count_(slice_bytes / codec::element_bytes(dtype)),
        room_(codec::room_for(dtype, count_, Format::coo) / 4096 * 4096 + 4096),
        slices_(kArrayBytes / slice_bytes),
        array_(memory_of(kArrayBytes)),
        messages_(memory_of(slices_ * room_)),
        target_(memory_of(kArrayBytes)),
        accumulator_(memory_of(kArrayBytes)) {}

  void prepare(double sparsity, std::optional<Format> format) {
    format_ = format;
    fill(array_.get(), dtype_, kArrayBytes, sparsity, 1, 7);
    fill(accumulator_.get(), dtype_, kArrayBytes, 0.3, 1, 8);
    bytes_.resize(slices_);
    for (std::size_t s = 0; s < slices_; ++s) bytes_[s] = encode(array_.get() + s * slice_bytes_, message(s));
  }

  Format chosen() const { return codec::inspect({messages_.get(), bytes_[0]}).format; }

  /// From memory: each slice lies where nothing has been for 64 MiB.
  Spread from_memory(const std::string& what) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < slices_; ++i) {
      const std::size_t s = (i + slices_ / 2) % slices_;
      const double copy = seconds_of([&] {
        std::memcpy(target_.get() + i * slice_bytes_, array_.get() + i * slice_bytes_, slice_bytes_);
      });
      const double took = seconds_of([&] {
        run(what, array_.get() + s * slice_bytes_, message(s), bytes_[s],
            (what == "decompress" ? target_ : accumulator_).get() + s * slice_bytes_,
            codec::Destination::beyond_caches);
      });
      ratios.push_back(copy / took);
    }
    return Spread(std::move(ratios));
  }

  /// In the second-level cache: each slice is copied there first, which nobody times.
  Spread in_cache(const std::string& what) {
    const Memory from = memory_of(slice_bytes_), to = memory_of(slice_bytes_), coded = memory_of(room_);
    std::vector<double> ratios;
    for (std::size_t s = 0; s < slices_; ++s) {
      const auto bring = [&] {
        std::memcpy(from.get(), array_.get() + s * slice_bytes_, slice_bytes_);
        if (what != "compress") std::memcpy(coded.get(), message(s), bytes_[s]);
      };
      bring();
      const double copy = seconds_of([&] { std::memcpy(to.get(), from.get(), slice_bytes_); });
      bring();
      if (what.starts_with("add")) std::memcpy(to.get(), accumulator_.get() + s * slice_bytes_, slice_bytes_);
      const double took = seconds_of(
          [&] { run(what, from.get(), coded.get(), bytes_[s], to.get(), codec::Destination::cached); });
      ratios.push_back(copy / took);
    }
    return Spread(std::move(ratios));
  }

 private:
  std::byte* message(std::size_t slice) { return messages_.get() + slice * room_; }
  std::size_t encode(const std::byte* elements, std::byte* message) {
    return codec::encode(encoder_, dtype_, elements, count_, format_, {message, room_});
  }
  void run(const std::string& what, const std::byte* slice, std::byte* message, std::size_t bytes,
           std::byte* out, codec::Destination destination) {
    if (what == "compress") {
      encode(slice, message);
      return;
    }
    decoder_.open({message, bytes}, dtype_, count_);
    const Combine combine = combine_for(dtype_, Op::sum);
    if (what == "decompress") decoder_.decode(out, destination);
    if (what == "add") decoder_.combine(Op::sum, combine, out);
  }

  const codec::Kernels& kernels_;
  DType dtype_;
  std::size_t slice_bytes_, count_, room_, slices_;
  Memory array_, messages_, target_, accumulator_;
  std::optional<Format> format_;
  codec::Encoder encoder_{kernels_};
  codec::Decoder decoder_{kernels_};
  std::vector<std::size_t> bytes_;
};

void print_speeds(const codec::Kernels& kernels, DType dtype, std::optional<Format> format) {
  std::printf("\n%s, %zu-byte elements, %s: core's memcpy = 1, median [quartiles]\n",
              std::string(kernels.name).c_str(), codec::element_bytes(dtype),
              format ? std::string(name_of(*format)).c_str() : "smallest");
  std::printf("%8s %6s %5s", "zeros", "format", "where");
  const std::string columns[] = {"compress", "decompress", "add"};
  for (const std::string& column : columns) std::printf(" %19s", column.c_str());
  std::printf("\n");
  Bench memory(kernels, dtype, 1 << 20), cache(kernels, dtype, 256 << 10);
  for (const double sparsity : kSparsities) {
    for (Bench* bench : {&memory, &cache}) {
      bench->prepare(sparsity, format);
      std::printf("%7.4g%% %6s %5s", sparsity * 100, std::string(name_of(bench->chosen())).c_str(),
                  bench == &memory ? "DRAM" : "L2");
      for (const std::string& column : columns) {
        const Spread spread = bench == &memory ? bench->from_memory(column) : bench->in_cache(column);
        std::printf("  %5.2f [%4.2f–%5.2f]", spread.median, spread.low, spread.high);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

double entropy(double d) {
  return d <= 0 || d >= 1 ? 0 : -d * std::log2(d) - (1 - d) * std::log2(1 - d);
}

/// One array of 4 Mi elements of 4 bytes: as one message, and in slices of 256 Ki.
void print_bytes(std::uint32_t run, const char* title) {
  constexpr std::size_t kCount = 4 << 20;
  std::printf("\nBytes over the entropy limit of random data, 4 Mi elements of 4 bytes, %s\n%8s", title,
              "zeros");
  for (const Format format : codec::kFormats) std::printf(" %7s", std::string(name_of(format)).c_str());
  std::printf(" %9s %9s %13s\n", "smallest", "1/dense", "256 Ki slices");
  const Memory array = memory_of(kCount * 4);
  const std::size_t room = codec::room_for(DType::float32, kCount, Format::coo);
  const Memory message = memory_of(room);
  codec::Encoder encoder;
  for (const double sparsity : kSparsities) {
    fill(array.get(), DType::float32, kCount * 4, sparsity, run, 11);
    encoder.scan(DType::float32, array.get(), kCount, {message.get(), room});
    const double d = static_cast<double>(encoder.nonzeros()) / kCount;
    const double limit = kCount * (entropy(d) + 32 * d) / 8;
    std::printf("%7.4g%%", sparsity * 100);
    for (const Format format : codec::kFormats)
      std::printf(" %7.3f", static_cast<double>(encoder.bytes_as(format)) / limit);
    const auto smallest = static_cast<double>(encoder.bytes_as(encoder.smallest()));
    const std::string name(name_of(encoder.smallest()));
    std::size_t sliced = 0;
    constexpr std::size_t kSlice = 256 << 10;
    for (std::size_t first = 0; first < kCount; first += kSlice) {
      encoder.scan(DType::float32, array.get() + first * 4, kSlice, {message.get(), room});
      sliced += encoder.bytes_as(encoder.smallest());
    }
    std::printf(" %9s %9.1f %13.3f\n", name.c_str(), kCount * 4 / smallest,
                static_cast<double>(sliced) / limit);
  }
}

void print_machine() {
  std::string line, model = "unknown processor", load;
  std::ifstream processors("/proc/cpuinfo");
  while (std::getline(processors, line))
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  std::ifstream average("/proc/loadavg");
  std::getline(average, load);
  std::printf("%s, load %s\n", model.c_str(), load.c_str());
}

struct Wanted {
  std::vector<const codec::Kernels*> sets;
  std::vector<DType> dtypes;
  std::vector<std::optional<Format>> formats;
};

/// Names of sets, of formats, `smallest`, and 1, 2, 4, 8 for an element's bytes. Returns what is none of these.
std::string read_arguments(std::span<char*> arguments, Wanted& wanted) {
  for (const std::string name : arguments) {
    const auto is_set = [&](const codec::Kernels& kernels) { return kernels.name == name; };
    const auto sets = codec::all_kernels();
    const auto set = std::find_if(sets.begin(), sets.end(), is_set);
    const auto width = std::string("1248").find(name);
    if (set != sets.end())
      wanted.sets.push_back(&*set);
    else if (const auto format = codec::format_named(name); format || name == "smallest")
      wanted.formats.push_back(format);
    else if (name.size() == 1 && width != std::string::npos)
      wanted.dtypes.push_back(kDTypes[width]);
    else
      return name;
  }
  if (wanted.sets.empty()) wanted.sets.push_back(&codec::best_kernels());
  if (wanted.dtypes.empty()) wanted.dtypes.push_back(DType::float32);
  if (wanted.formats.empty()) wanted.formats.push_back(std::nullopt);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  Wanted wanted;
  const std::string wrong = read_arguments({arguments + 1, static_cast<std::size_t>(count - 1)}, wanted);
  if (!wrong.empty()) {
    std::fprintf(stderr, "expected instruction sets, formats, smallest, 1, 2, 4, 8 (bytes), found %s\n",
                 wrong.c_str());
    return 2;
  }
  print_machine();
  print_bytes(1, "random");
  print_bytes(64, "runs of about 64");
  for (const codec::Kernels* kernels : wanted.sets)
    for (const DType dtype : wanted.dtypes)
      for (const auto& format : wanted.formats) print_speeds(*kernels, dtype, format);
  print_machine();
}
