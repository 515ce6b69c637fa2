// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/communicator/wire_choice.hpp"

namespace hemiola::c {
namespace {

/// So much of a wrong value is shown.
constexpr std::size_t kShown = 60;

[[noreturn]] void refuse(const std::string& name, const std::string& expected, const std::string& found) {
  throw ArgumentError(name + ": expected " + expected + ", found '" + found.substr(0, kShown) + "'");
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int> number(const Environment& environment, const std::string& name) {
  const std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  if (!is_number(*text)) refuse(name, "a number", *text);
  return std::stoi(*text);
}

std::string parent() {
  return "parent-" + std::to_string(getppid());
}

/// The first of these that is set.
std::optional<std::string> first_of(const Environment& environment, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (auto text = environment(name)) return text;
  return std::nullopt;
}

/// The variables of a launcher; an empty name is of a number that it does not tell.
struct Launcher {
  const char* name;
  const char *rank, *rank_count, *host_rank_count, *incarnation;
  std::string (*job)(const Environment& environment);
};

std::string torchrun_job(const Environment& environment) {
  std::string name = "torchrun";
  for (const char* part : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"})
    name += "-" + environment(part).value_or("");
  return name;
}

std::string slurm_job(const Environment& environment) {
  return "slurm-" + environment("SLURM_JOB_ID").value_or("None") + "-" +
         environment("SLURM_STEP_ID").value_or("None");
}

const std::array kLaunchers = {
    Launcher{"hemiola.launch", "HEMIOLA_RANK", "HEMIOLA_RANK_COUNT", "HEMIOLA_LOCAL_RANK_COUNT", "",
             [](const Environment& e) { return "hemiola-" + e("HEMIOLA_JOB").value_or("None"); }},
    Launcher{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT",
             torchrun_job},
    Launcher{"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_SIZE", "",
             [](const Environment& e) {
               return "ompi-" + first_of(e, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}).value_or(parent());
             }},
    Launcher{"MPICH's mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "",
             [](const Environment& e) {
               return "pmi-" +
                      first_of(e, {"PMI_JOBID", "PMI_ID_NAMESPACE", "I_MPI_HYDRA_UUID"}).value_or(parent());
             }},
    Launcher{"Slurm's srun", "SLURM_PROCID", "SLURM_NTASKS", "", "SLURM_RESTART_COUNT", slurm_job},
};

/// Slurm says how many nodes there are, but not in one number how many ranks this one has.
std::optional<int> ranks_of_host(const Launcher& launcher, const Environment& environment) {
  if (*launcher.host_rank_count != 0) return number(environment, launcher.host_rank_count);
  const auto nodes = first_of(environment, {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"});
  return nodes && *nodes != "1" ? std::optional(0) : std::nullopt;
}

std::optional<Place> place_by(const Launcher& launcher, const Environment& environment) {
  const auto rank = number(environment, launcher.rank);
  const auto rank_count = number(environment, launcher.rank_count);
  if (!rank || !rank_count) return std::nullopt;
  if (*rank >= *rank_count)
    throw ArgumentError(std::string(launcher.name) + ": expected " + launcher.rank + " below " +
                        launcher.rank_count + ", found " + std::to_string(*rank) + " and " +
                        std::to_string(*rank_count));
  Place place{launcher.name, *rank, *rank_count, launcher.job(environment),
              ranks_of_host(launcher, environment)};
  if (*launcher.incarnation != 0) place.incarnation = number(environment, launcher.incarnation).value_or(0);
  return place;
}

/// "30s", or a number of seconds.
double seconds_of(const std::string& name, const std::string& text) {
  char* end = nullptr;
  double seconds = std::strtod(text.c_str(), &end);
  if (*end != 0) try {
      seconds = parse_seconds(text);
    } catch (const FormatError&) {
      seconds = 0;
    }
  if (!(seconds > 0 && seconds < 1e9)) refuse(name, "a time above 0 such as '30s'", text);
  return seconds;
}

/// 64 hexadecimal digits, or the descriptor of a file with as many bytes as they stand for. No error repeats it.
Token token_of(const std::string& text) {
  if (!text.starts_with("fd:")) return Token::from_hex(text);
  std::array<unsigned char, Token::kBytes + 1> secret{};
  const std::string descriptor = text.substr(3);
  const ssize_t count =
      is_number(descriptor) ? pread(std::stoi(descriptor), secret.data(), secret.size(), 0) : -1;
  if (count != static_cast<ssize_t>(Token::kBytes))
    throw ArgumentError("HEMIOLA_TOKEN: expected a file of " + std::to_string(Token::kBytes) +
                        " bytes at descriptor " + descriptor.substr(0, 9) +
                        "; the launcher of ranks must hand it on");
  std::string hex;
  for (std::size_t i = 0; i < Token::kBytes; ++i) {
    hex += "0123456789abcdef"[secret[i] >> 4];
    hex += "0123456789abcdef"[secret[i] & 15];
  }
  return Token::from_hex(hex);
}

/// A folder as a secret of Kubernetes has it, or three paths.
TlsFiles tls_of(const std::string& text) {
  std::vector<std::string> paths;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');) paths.push_back(word);
  if (paths.size() == 1) return {text + "/tls.crt", text + "/tls.key", text + "/ca.crt"};
  if (paths.size() != 3 || std::ranges::count(paths, "") > 0)
    refuse("HEMIOLA_TLS",
           "a folder with tls.crt, tls.key and ca.crt, or the paths of certificate, key and authority with "
           "commas "
           "between",
           text);
  return {paths[0], paths[1], paths[2]};
}

/// Wires that a process without Python may ask for: MPI's end is nobody's to wait for here.
std::string wires_of(const std::string& text) {
  const std::vector<std::string> known = wire_names();
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    if (word == "mpi" || (word != "auto" && std::ranges::find(known, word) == known.end()))
      refuse("HEMIOLA_WIRE", "auto, or some of shm, tcp and ucx with commas between", text);
  return text;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* text = std::getenv(name.c_str());
    return text == nullptr || *text == 0 ? std::nullopt : std::optional<std::string>(text);
  };
}

Place launched_place(const Environment& environment) {
  std::string looked_for;
  for (const Launcher& launcher : kLaunchers) {
    if (auto place = place_by(launcher, environment)) return *place;
    looked_for += std::string(looked_for.empty() ? "" : "; ") + launcher.name + ": " + launcher.rank + ", " +
                  launcher.rank_count;
  }
  throw ArgumentError(
      "no job found: this process was started by none of the launchers whose variables were looked for (" +
      looked_for + "). Start it with 'hemiola launch', torchrun, mpirun or srun, or call hemiola_join");
}

bool Settings::needs_addresses() const {
  return ("," + wires + ",").find(",tcp,") != std::string::npos;
}

Settings settings_of(const Environment& environment) {
  Settings settings;
  const auto with = [&](const std::string& name, const auto& take) {
    if (const auto text = environment(name)) take(name, *text);
  };
  with("HEMIOLA_RENDEZVOUS", [&](auto&, auto& text) { settings.rendezvous = text; });
  with("HEMIOLA_TOKEN", [&](auto&, auto& text) { settings.token = token_of(text); });
  with("HEMIOLA_TLS", [&](auto&, auto& text) { settings.tls = tls_of(text); });
  with("HEMIOLA_INTERFACE", [&](auto&, auto& text) { settings.interfaces = text; });
  with("HEMIOLA_PORTS", [&](auto&, auto& text) { settings.ports = PortRange::parse(text); });
  with("HEMIOLA_TIMEOUT", [&](auto& name, auto& text) { settings.timeout_s = seconds_of(name, text); });
  with("HEMIOLA_SILENCE", [&](auto& name, auto& text) { settings.silence_s = seconds_of(name, text); });
  with("HEMIOLA_WIRE", [&](auto&, auto& text) { settings.wires = wires_of(text); });
  with("HEMIOLA_IP_FAMILY", [&](auto& name, auto& text) {
    if (text != "4" && text != "6") refuse(name, "4 or 6", text);
    settings.ip_family = text == "4" ? 4 : 6;
  });
  return settings;
}

}  // namespace hemiola::c
