// SPDX-License-Identifier: Apache-2.0
// The variables of launchers and users, and which addresses a rule permits.
#include "hemiola/c/environment.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/c/addresses.hpp"
#include "hemiola/c/meeting.hpp"

namespace hemiola::c {
namespace {

Environment of(const std::map<std::string, std::string>& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

const std::string kSecret(64, 'a');

TEST(LaunchedPlace, MeetsAsPythonsRanksOfTheSameLauncherDo) {
  const std::map<std::string, std::map<std::string, std::string>> jobs = {
      {"hemiola-j-0", {{"HEMIOLA_RANK", "1"}, {"HEMIOLA_RANK_COUNT", "4"}, {"HEMIOLA_JOB", "j"}}},
      {"torchrun-a-29500--2",
       {{"RANK", "1"},
        {"WORLD_SIZE", "4"},
        {"MASTER_ADDR", "a"},
        {"MASTER_PORT", "29500"},
        {"TORCHELASTIC_RESTART_COUNT", "2"}}},
      {"ompi-n-0", {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_NAMESPACE", "n"}}},
      {"pmi-p-0", {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"PMI_JOBID", "p"}}},
      {"slurm-7-0-1",
       {{"SLURM_PROCID", "1"},
        {"SLURM_NTASKS", "4"},
        {"SLURM_JOB_ID", "7"},
        {"SLURM_STEP_ID", "0"},
        {"SLURM_RESTART_COUNT", "1"}}},
  };
  for (const auto& [meeting, variables] : jobs) {
    const Place place = launched_place(of(variables));
    EXPECT_EQ(place.rank, 1);
    EXPECT_EQ(place.rank_count, 4);
    EXPECT_EQ(place.meeting_name(), meeting);
    EXPECT_FALSE(place.spans_hosts()) << meeting;
  }
}

TEST(LaunchedPlace, KnowsFromTheLauncherThatRanksAreOnOtherHosts) {
  const Place place = launched_place(
      of({{"HEMIOLA_RANK", "0"}, {"HEMIOLA_RANK_COUNT", "4"}, {"HEMIOLA_LOCAL_RANK_COUNT", "2"}}));
  EXPECT_TRUE(place.spans_hosts());
  EXPECT_THROW(place_of(place, {}), ArgumentError);
  EXPECT_EQ(place_of(place, {.rendezvous = "a:29400"}).address, "a:29400");
  EXPECT_TRUE(launched_place(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "2"}}))
                  .spans_hosts());
}

TEST(LaunchedPlace, RefusesNumbersThatAreNoneOrDoNotFit) {
  for (const auto& [rank, count] : {std::pair("x", "2"), {"-1", "2"}, {"2", "2"}, {"0", "12345678901"}})
    EXPECT_THROW(launched_place(of({{"HEMIOLA_RANK", rank}, {"HEMIOLA_RANK_COUNT", count}})), ArgumentError)
        << rank << " of " << count;
  EXPECT_THROW(launched_place(of({})), ArgumentError);
}

TEST(Settings, ReadsEachVariable) {
  const Settings settings = settings_of(of({{"HEMIOLA_RENDEZVOUS", "a:1"},
                                            {"HEMIOLA_TOKEN", kSecret},
                                            {"HEMIOLA_PORTS", "20000-20100"},
                                            {"HEMIOLA_IP_FAMILY", "6"},
                                            {"HEMIOLA_TIMEOUT", "30s"},
                                            {"HEMIOLA_SILENCE", "0.5"},
                                            {"HEMIOLA_WIRE", "shm,tcp"}}));
  EXPECT_EQ(settings.rendezvous, "a:1");
  EXPECT_TRUE(settings.token);
  EXPECT_EQ(settings.ports.last, 20100);
  EXPECT_EQ(settings.ip_family, 6);
  EXPECT_EQ(settings.timeout_s, 30);
  EXPECT_EQ(settings.silence_s, 0.5);
  EXPECT_TRUE(settings.needs_addresses());
  EXPECT_FALSE(settings_of(of({})).needs_addresses());
}

TEST(Settings, NamesAVariableThatCannotBeReadAndNoSecret) {
  for (const auto& [name, text] : {std::pair("HEMIOLA_TIMEOUT", "soon"),
                                   {"HEMIOLA_SILENCE", "0"},
                                   {"HEMIOLA_IP_FAMILY", "5"},
                                   {"HEMIOLA_WIRE", "mpi"},
                                   {"HEMIOLA_WIRE", "carrier pigeon"},
                                   {"HEMIOLA_PORTS", "x"},
                                   {"HEMIOLA_TOKEN", "secretsecret"},
                                   {"HEMIOLA_TOKEN", "fd:99999"},
                                   {"HEMIOLA_TOKEN", "fd:x"}})
    try {
      settings_of(of({{name, text}}));
      ADD_FAILURE() << name << "=" << text;
    } catch (const ArgumentError& error) {
      EXPECT_EQ(std::string(error.what()).find("secretsecret"), std::string::npos);
    }
}

TEST(Settings, TakesTheFilesOfTlsFromAFolderOrOneByOne) {
  EXPECT_FALSE(settings_of(of({})).tls);
  EXPECT_EQ(settings_of(of({{"HEMIOLA_TLS", "/secret"}})).tls->key, "/secret/tls.key");
  EXPECT_EQ(settings_of(of({{"HEMIOLA_TLS", "a,b,c"}})).tls->authority, "c");
  for (const char* text : {"a,b", "a,,c", "a,b,c,d"})
    EXPECT_THROW(settings_of(of({{"HEMIOLA_TLS", text}})), ArgumentError) << text;
}

TEST(MeetingPlace, IsAnAddressWhereItEndsInAPort) {
  EXPECT_EQ(MeetingPlace::of("host:4000").address, "host:4000");
  EXPECT_EQ(MeetingPlace::of("[::1]:4000").address, "[::1]:4000");
  for (const char* name : {"job", "job:", ":4000", "a:b", "job 7"})
    EXPECT_EQ(MeetingPlace::of(name).address, "");
}

LocalAddress local(const std::string& interface, const std::string& address, bool is_own = false) {
  return {interface, Endpoint::parse(address), address.starts_with("fe80"), is_own};
}

std::string permitted(const std::string& rule, int family = 0) {
  const std::vector<LocalAddress> present = {
      local("lo", "127.0.0.1", true), local("eth0", "10.1.0.5"), local("eth0", "fe80::5"),
      local("eth01", "10.2.0.5"),     local("ib0", "fd00::7"),   local("docker0", "172.17.0.1", true),
  };
  std::string names;
  for (const LocalAddress& one : reachable(present, rule, family)) names += one.address.address() + " ";
  return names;
}

TEST(Reachable, FollowsTheRuleOfTheUser) {
  EXPECT_EQ(permitted(""), "10.1.0.5 10.2.0.5 fd00::7 ");
  EXPECT_EQ(permitted("", 4), "10.1.0.5 10.2.0.5 ");
  EXPECT_EQ(permitted("eth0"), "10.1.0.5 10.2.0.5 ");
  EXPECT_EQ(permitted("=eth0"), "10.1.0.5 ");
  EXPECT_EQ(permitted("ib,lo"), "127.0.0.1 fd00::7 ");
  EXPECT_EQ(permitted("^eth"), "fd00::7 ");
  EXPECT_EQ(permitted("10.2.0.0/16"), "10.2.0.5 ");
  EXPECT_EQ(permitted("fd00::/64"), "fd00::7 ");
}

TEST(Reachable, SaysWhatThereIsWhereNothingIsLeft) {
  for (const char* rule : {"wlan", "10.9.0.0/16", "10.0.0.0/99", "=", "a b", "^,"})
    EXPECT_THROW(permitted(rule), ArgumentError) << rule;
}

TEST(SideBySide, HasTheNamedInterfacesOnly) {
  const std::vector<LocalAddress> reached = {local("none0", "10.1.0.5"), local("none1", "10.2.0.5"),
                                             local("none0", "fd00::5")};
  EXPECT_TRUE(side_by_side(reached, "").empty());
  const std::vector<NicAddresses> nics = side_by_side(reached, "none");
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(nics[0].endpoints.size(), 2U);
  EXPECT_EQ(nics[0].speed, nics[1].speed);
}

}  // namespace
}  // namespace hemiola::c
