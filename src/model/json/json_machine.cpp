// Machine, Build and HealthCheck as JSON.
#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

Json cache_to_json(const CacheLevel& cache) {
  return {{"level", cache.level}, {"kind", cache.kind}, {"bytes", cache.bytes}, {"shared_by", cache.shared_by}};
}

Json device_to_json(const DeviceInfo& device) {
  Json json{{"id", device.id}, {"backend", device.backend}, {"name", device.name}};
  put_text(json, "uuid", device.uuid);
  put_known(json, "memory_bytes", device.memory_bytes);
  put_known(json, "last_level_cache_bytes", device.last_level_cache_bytes);
  json["caches"] = Json::array();
  for (const auto& cache : device.caches) json["caches"].push_back(cache_to_json(cache));
  put_known(json, "compute_units", std::int64_t{device.compute_units});
  put_known(json, "max_clock_hz", device.max_clock_hz);
  put_text(json, "architecture", device.architecture);
  put_named_texts(json, "details", device.details);
  return json;
}

CacheLevel read_cache(JsonFields& fields) {
  CacheLevel cache;
  fields.maybe("level", cache.level);
  fields.maybe("kind", cache.kind);
  fields.required("bytes", cache.bytes);
  fields.maybe("shared_by", cache.shared_by);
  return cache;
}

DeviceInfo read_device(JsonFields& fields) {
  DeviceInfo device;
  fields.required("id", device.id);
  fields.required("backend", device.backend);
  fields.required("name", device.name);
  fields.maybe("uuid", device.uuid);
  fields.maybe("memory_bytes", device.memory_bytes);
  fields.maybe("last_level_cache_bytes", device.last_level_cache_bytes);
  fields.each("caches", [&](JsonFields& cache) { device.caches.push_back(read_cache(cache)); });
  fields.maybe("compute_units", device.compute_units);
  fields.maybe("max_clock_hz", device.max_clock_hz);
  fields.maybe("architecture", device.architecture);
  fields.maybe("details", device.details);
  return device;
}

}  // namespace

Json to_json(const Machine& machine) {
  Json json{{"hostname", machine.hostname}};
  put_text(json, "os", machine.os);
  put_text(json, "kernel", machine.kernel);
  put_text(json, "cpu", machine.cpu);
  put_text(json, "virtualization", machine.virtualization);
  put_known(json, "memory_bytes", machine.memory_bytes);
  json["devices"] = Json::array();
  for (const auto& device : machine.devices) json["devices"].push_back(device_to_json(device));
  put_named_texts(json, "software", machine.software);
  put_text(json, "fingerprint", machine.fingerprint);
  return json;
}

Json to_json(const Build& build) {
  Json json{{"version", build.version}};
  put_text(json, "git_sha", build.git_sha);
  json["git_dirty"] = build.git_dirty;
  put_text(json, "compiler", build.compiler);
  put_text(json, "type", build.type);
  json["features"] = build.features;
  return json;
}

Json to_json(const HealthCheck& check) {
  Json json{{"id", check.id}, {"title", check.title}, {"state", name_of(check.state)}};
  put_text(json, "found", check.found);
  put_text(json, "why", check.why);
  put_text(json, "fix", check.fix);
  return json;
}

Json doctor_json(const Machine& machine, std::span<const HealthCheck> checks) {
  Json json{{"schema", kDoctorSchema}, {"machine", to_json(machine)}, {"checks", Json::array()}};
  for (const auto& check : checks) json["checks"].push_back(to_json(check));
  return json;
}

void read_machine(JsonFields& fields, Machine& machine) {
  fields.required("hostname", machine.hostname);
  fields.maybe("os", machine.os);
  fields.maybe("kernel", machine.kernel);
  fields.maybe("cpu", machine.cpu);
  fields.maybe("virtualization", machine.virtualization);
  fields.maybe("memory_bytes", machine.memory_bytes);
  fields.each("devices", [&](JsonFields& device) { machine.devices.push_back(read_device(device)); });
  fields.maybe("software", machine.software);
  fields.maybe("fingerprint", machine.fingerprint);
}

void read_build(JsonFields& fields, Build& build) {
  fields.required("version", build.version);
  fields.maybe("git_sha", build.git_sha);
  fields.maybe("git_dirty", build.git_dirty);
  fields.maybe("compiler", build.compiler);
  fields.maybe("type", build.type);
  fields.maybe("features", build.features);
}

}  // namespace warpmark
