// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/trace.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola {
namespace {

/// Collects text and passes it on in blocks.
class JsonWriter {
 public:
  explicit JsonWriter(ByteSink* sink) : sink_(*sink) { text_ = R"({"displayTimeUnit":"ns","traceEvents":[)"; }

  /// `fields` without braces.
  void event(const std::string& fields) {
    text_ += std::exchange(separator_, ",\n");
    text_ += '{';
    text_ += fields;
    text_ += '}';
    if (text_.size() >= kBlock) flush();
  }
  void finish() {
    text_ += "]}\n";
    flush();
  }

 private:
  static constexpr std::size_t kBlock = 1 << 20;

  void flush() {
    sink_.write(std::as_bytes(std::span(text_)));
    text_.clear();
  }

  ByteSink& sink_;
  std::string text_;
  const char* separator_ = "\n";
};

/// Picoseconds as the microseconds of the format, exactly.
std::string microseconds(Picoseconds time) {
  std::string fraction = std::to_string(time % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  return std::to_string(time / 1'000'000) + "." + fraction;
}

/// The threads on which spans are drawn. A link has as many as it carries flows at once; on each, no two overlap.
class Threads {
 public:
  explicit Threads(const std::vector<Span>& spans) : thread_of_span_(spans.size()) {
    std::vector<std::size_t> order(spans.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(spans[a].link, spans[a].start) < std::pair(spans[b].link, spans[b].start);
    });
    for (std::size_t i : order) thread_of_span_[i] = take_thread(spans[i]);
  }

  /// Numbered from 0 over all links.
  int of(std::size_t span) const { return thread_of_span_[span]; }
  int count() const { return static_cast<int>(link_of_thread_.size()); }
  int link_of(int thread) const { return link_of_thread_[static_cast<std::size_t>(thread)]; }

 private:
  /// The thread of the span's link that is free again first, if it is by now, else a new one.
  int take_thread(const Span& span) {
    if (link_of_thread_.empty() || link_of_thread_.back() != span.link) busy_until_ = {};
    int thread = count();
    if (!busy_until_.empty() && busy_until_.top().first <= span.start) {
      thread = busy_until_.top().second;
      busy_until_.pop();
    } else {
      link_of_thread_.push_back(span.link);
    }
    busy_until_.emplace(span.end, thread);
    return thread;
  }

  using Busy = std::pair<Picoseconds, int>;
  std::vector<int> thread_of_span_, link_of_thread_;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_until_;  ///< of the link at hand
};

class Trace {
 public:
  Trace(const Schedule& schedule, const Topology& topology, std::int64_t bytes, const Timeline& timeline,
        ByteSink* sink)
      : schedule_(schedule),
        topology_(topology),
        timeline_(timeline),
        begin_(chunk_begins(schedule, exchange_size(schedule.collective(), bytes))),
        threads_(timeline.spans),
        json_(sink) {}

  void write() {
    name_processes();
    name_threads();
    std::int64_t before = -1;
    for (std::size_t s = 0; s < timeline_.spans.size(); ++s) {
      const Span& span = timeline_.spans[s];
      while (span.transfer >= schedule_.step_offset()[static_cast<std::size_t>(step_) + 1]) ++step_;
      write_message(s);
      if (span.transfer != before) write_landing(s);
      before = span.transfer;
    }
    json_.finish();
  }

 private:
  static constexpr int kReceived = 0;  // of a rank's threads; those of links follow

  Vertex process_of(const Span& span) const { return topology_.link(span.link).src; }
  int thread_of(std::size_t s) const { return 1 + threads_.of(s); }

  std::string place(int process, int thread) const {
    return R"("pid":)" + std::to_string(process) + R"(,"tid":)" + std::to_string(thread);
  }

  void name_processes() {
    for (Vertex v : indices<Vertex>(topology_.vertex_count())) {
      json_.event(R"("name":"process_name","ph":"M",)" + place(v, kReceived) + R"(,"args":{"name":")" +
                  name_of_vertex(v) + R"("})");
      json_.event(R"("name":"process_sort_index","ph":"M",)" + place(v, kReceived) +
                  R"(,"args":{"sort_index":)" + std::to_string(v) + "}");
      if (topology_.is_rank(v)) name_thread(v, kReceived, "received");
    }
  }

  void name_threads() {
    for (int t = 0; t < threads_.count(); ++t) {
      const int link = threads_.link_of(t);
      name_thread(topology_.link(link).src, 1 + t,
                  "to " + name_of_vertex(topology_.link(link).dst) + " (link " + std::to_string(link) + ")");
    }
  }

  std::string name_of_vertex(Vertex v) const {
    const bool is_named = !topology_.vertex_names().empty() && !topology_.vertex_names()[at(v)].empty();
    return topology_.is_rank(v) || is_named ? called(topology_, v)
                                            : "switch " + std::to_string(v - topology_.rank_count());
  }

  void name_thread(int process, int thread, const std::string& name) {
    json_.event(R"("name":"thread_name","ph":"M",)" + place(process, thread) + R"(,"args":{"name":")" + name +
                R"("})");
  }

  std::string name_of(std::int64_t transfer) const {
    return R"("name":")" + std::string(schedule_.reduces(transfer) ? "add" : "copy") + " chunk " +
           std::to_string(schedule_.chunk_of(transfer)) + R"(")";
  }

  std::string arguments(std::int64_t transfer) const {
    const RankPair pair = schedule_.pair_of(transfer);
    const auto chunk = static_cast<std::size_t>(schedule_.chunk_of(transfer));
    return R"("args":{"step":)" + std::to_string(step_) + R"(,"src":)" + std::to_string(pair.src) +
           R"(,"dst":)" + std::to_string(pair.dst) + R"(,"chunk":)" + std::to_string(chunk) + R"(,"bytes":)" +
           std::to_string(begin_[chunk + 1] - begin_[chunk]) + "}";
  }

  void write_message(std::size_t s) {
    const Span& span = timeline_.spans[s];
    json_.event(name_of(span.transfer) + R"(,"ph":"X",)" + place(process_of(span), thread_of(s)) +
                R"(,"ts":)" + microseconds(span.start) + R"(,"dur":)" + microseconds(span.end - span.start) +
                "," + arguments(span.transfer));
  }

  /// The landing of a transfer, and the arrow to it from its first slice.
  void write_landing(std::size_t s) {
    const Span& span = timeline_.spans[s];
    const Picoseconds landed = timeline_.landed[static_cast<std::size_t>(span.transfer)];
    const std::string received = place(schedule_.pair_of(span.transfer).dst, kReceived);
    const std::string arrow =
        R"("name":"lands","cat":"dependency","id":)" + std::to_string(span.transfer) + ",";
    json_.event(name_of(span.transfer) + R"(,"ph":"X",)" + received + R"(,"ts":)" + microseconds(landed) +
                R"(,"dur":0,)" + arguments(span.transfer));
    json_.event(arrow + R"("ph":"s",)" + place(process_of(span), thread_of(s)) + R"(,"ts":)" +
                microseconds(span.start));
    json_.event(arrow + R"("ph":"f","bp":"e",)" + received + R"(,"ts":)" + microseconds(landed));
  }

  const Schedule& schedule_;
  const Topology& topology_;
  const Timeline& timeline_;
  std::vector<std::int64_t> begin_;
  Threads threads_;
  JsonWriter json_;
  int step_ = 0;  ///< of the span that is being written
};

}  // namespace

void write_trace(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                 const Timeline& timeline, ByteSink* sink) {
  if (timeline.landed.size() != static_cast<std::size_t>(schedule.transfer_count()))
    throw ArgumentError("write_trace: expected a timeline of this schedule that kept its spans");
  Trace(schedule, topology, bytes, timeline, sink).write();
}

}  // namespace hemiola
