"""The checks of scripts/check.sh must refuse bad trees: each test feeds one fault and sees it named."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Checks(unittest.TestCase):
    def setUp(self):
        self.tree = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.tree)
        shutil.copy(os.path.join(ROOT, ".clang-format"), self.tree)

    def write(self, path, text):
        full = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def check(self, path, text):
        """Exit code and output of the checks over a tree with this file."""
        self.write(path, text)
        done = subprocess.run([os.path.join(ROOT, "scripts/check.sh"), "--root", self.tree],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def refused(self, path, text, check, why):
        code, output = self.check(path, text)
        self.assertEqual(code, 1, output)
        self.assertIn(f"check: failed: {check}\n", output)
        self.assertIn(why, output)

    def alone(self, script, path, text):
        """Exit code and output of one check over the tree with this file; quicker than all."""
        self.write(path, text)
        command = [sys.executable, "-B", os.path.join(ROOT, "scripts", script), self.tree]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def layering_refused(self, path, text, why):
        with self.subTest(path=path, text=text):
            code, output = self.alone("check_layering.py", path, text)
            os.remove(os.path.join(self.tree, path))
            self.assertEqual(code, 1, output)
            self.assertIn(why, output)

    def layering_accepted(self, path, text):
        with self.subTest(path=path, text=text):
            self.assertEqual(self.alone("check_layering.py", path, text), (0, ""))

    def docs_refused(self, path, text, why):
        code, output = self.alone("check_docs.py", path, text)
        self.assertEqual(code, 1, output)
        self.assertIn(why, output)

    def docs_accepted(self, path, text):
        self.assertEqual(self.alone("check_docs.py", path, text), (0, ""))

    def accepted(self, path, text):
        code, output = self.check(path, text)
        self.assertEqual(code, 0, output)

    def test_good_files_pass(self):
        self.accepted("dataflow/channel/a.h",
                      '#pragma once\n#include "dataflow/base/ids.h"\n\n#include <ATen/core/Tensor.h>\n')
        self.accepted("actors/a.cc", "#include <caf/actor.hpp>\n")
        self.accepted("envs/a_test.cc", "#include <fstream>\n")

    def test_format(self):
        self.refused("envs/a.cc", "int  a ;\n", "format", "a.cc:1")

    def test_layers(self):
        for path, include in (
                ("dataflow/base/a.cc", "dataflow/types/batch.h"),
                ("dataflow/policy/a.cc", "dataflow/channel/stream.h"),
                ("dataflow/channel/a.cc", "dataflow/graph/graph.h"),
                ("dataflow/graph/a.cc", "actors/system.h"),
                ("algorithms/a.cc", "envs/env.h"),
                ("envs/a_test.cc", "models/nets/mlp.h"),
                ("models/nets/a.cc", "algorithms/ppo.h"),
                ("trainer/a.cc", "workers/trainer_worker.h"),
                ("workers/a.cc", "apps/main.h")):
            self.layering_refused(path, f'#include "{include}"\n', f"{path}:1")

    def test_restricted_libraries(self):
        for path, include, why in (
                ("workers/a.cc", "caf/all.hpp", "only actors/ includes CAF"),
                ("workers/a.cc", "zmq.hpp", "only dataflow/transport includes ZeroMQ"),
                ("workers/a.cc", "google/protobuf/message.h", "Protobuf stays in"),
                ("apps/a.cc", "torch/torch.h", "half a minute"),
                ("apps/a.cc", "spdlog/spdlog.h", "log.cc"),
                ("envs/a.cc", "fstream", "never sees sockets or files"),
                ("envs/a.cc", "cstdio", "never sees sockets or files"),
                ("envs/a.h", "stdio.h", "never sees sockets or files"),
                ("envs/classic/a.cc", "sys/epoll.h", "never sees sockets or files"),
                ("algorithms/a.cc", "unistd.h", "never sees sockets or files"),
                ("algorithms/a.cc", "dataflow/base/files.h", "never sees sockets or files"),
                ("algorithms/a.cc", "sys/socket.h", "never sees sockets or files")):
            self.layering_refused(path, f"#include <{include}>\n", why)

    def test_layers_hold_for_both_kinds_of_quotes(self):
        self.layering_refused("envs/a.cc", "#include <actors/system.h>\n",
                              "envs may not include actors/system.h")
        self.layering_refused("envs/a.cc", '#include "zmq.hpp"\n', "includes ZeroMQ")
        self.layering_refused("envs/a.cc", '#include "../actors/system.h"\n', "begin at the root")

    def test_two_types_of_one_name(self):
        self.write("models/b.h", "#pragma once\nnamespace sluice {\nstruct A {};\n}  // namespace sluice\n")
        self.refused("envs/a.h", "#pragma once\nnamespace sluice {\nclass A {};\n}  // namespace sluice\n",
                     "types", "sluice::A is defined in envs/a.h and in models/b.h")

    def test_unknown_folder(self):
        self.refused("foo/a.cc", "#include <caf/all.hpp>\n", "layering", "folder foo has no place")
        self.layering_refused("a.cc", "int a;\n", "has no place")

    def test_locks_outside_dataflow_and_actors(self):
        why = "mutexes only inside dataflow/ and actors/"
        self.layering_refused("apps/observe/a.cc", "std::mutex m;\n", why)
        self.layering_refused("workers/a.h", "#include <condition_variable>\n", why)
        self.layering_refused("models/a.cc", "static std::shared_mutex m;\n", why)
        self.layering_refused("trainer/a.cc", "pthread_mutex_lock(&m);\n", why)
        self.layering_refused("apps/a.cc", "#include \"dataflow/base/mutex.h\"\n", why)
        self.layering_refused("workers/a.h", "Mutex mutex_;\n", why)
        self.layering_accepted("dataflow/base/a.cc", "Mutex m;\n")
        self.layering_accepted("actors/a.cc", "#include \"dataflow/base/mutex.h\"\n")
        unchecked = "dataflow/base/mutex.h has the locks that are checked"
        self.layering_refused("dataflow/base/a.cc", "std::mutex m;\n", unchecked)
        self.layering_refused("actors/a.cc", "#include <mutex>\n", unchecked)
        self.layering_accepted("dataflow/base/mutex.h", "#include <mutex>\n")
        self.layering_accepted("apps/a.cc", "// no std::mutex here\n")
        self.layering_accepted("workers/a_test.cc", "std::mutex m;\n")

    def test_heavy_include_in_a_header(self):
        self.refused("models/a.h", "#pragma once\n#include <ATen/ATen.h>\n", "layering",
                     "at most")

    def test_unknown_folder_of_dataflow(self):
        self.refused("dataflow/misc/a.cc", "int a;\n", "layering", "no place")

    def test_machine_paths(self):
        for folder in ("home/somebody", "root", "work"):
            self.refused("docs/a.md", f"see /{folder}/file\n", "text", "a path of one machine")

    def test_registry_hosts(self):
        self.refused("docs/a.md", "from " + "pypi" + ".org\n", "text", "a registry's host")

    def test_long_files(self):
        self.refused("envs/a.cc", "int a();\n" * 601, "text", "601 lines")

    def test_header_without_pragma_once(self):
        self.refused("envs/a.h", "int a();\n", "text", "no #pragma once")

    def test_snippet_that_drifted_from_its_source(self):
        self.write("envs/a.cc", "// [part]\nint b;\n// [/part]\n")
        page = "<!-- snippet: envs/a.cc part -->\n```cpp\nint %s;\n```\n"
        self.accepted("docs/a.md", page % "b")
        self.refused("docs/a.md", page % "c", "docs", "docs/a.md: snippet envs/a.cc part: differs")
        fix = [sys.executable, os.path.join(ROOT, "scripts/check_docs.py"), "--fix", self.tree]
        subprocess.run(fix, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(self.tree, "docs/a.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), page % "b")

    def test_snippet_without_a_source(self):
        page = "<!-- snippet: envs/a.cc part -->\n```cpp\nint b;\n```\n"
        self.refused("docs/a.md", page, "docs", "no such file")
        self.write("envs/a.cc", "int b;\n")
        self.refused("docs/a.md", page, "docs", "no such pair of markers")

    def test_link_to_nowhere(self):
        self.refused("docs/a.md", "see [this](b.md)\n", "docs", "the link to b.md leads nowhere")

    def test_metrics_page(self):
        page = "| `sluice_a_total` | counter | | |\n"
        self.docs_refused("docs/metrics.md", page, "no source registers sluice_a_total")
        self.write("envs/a.cc", 'auto& a = m.counter("sluice_a_total", "");\n')
        self.docs_refused("docs/metrics.md", page, "envs/a.cc: no test looks at sluice_a_total")
        self.write("envs/a_test.cc", 'auto x = value("sluice_a_total");\n')
        self.docs_accepted("docs/metrics.md", page)
        self.write("envs/a.cc", 'auto& a = m.double_counter("sluice_a_total", "");\n')
        self.docs_accepted("docs/metrics.md", page)
        self.docs_refused("docs/metrics.md", "none\n", "sluice_a_total (counter, envs/a.cc) is")
        self.docs_refused("docs/metrics.md", page.replace("counter", "gauge"), "not a gauge")
        self.write("envs/a.cc", 'run.report("score", 1);\n')
        self.docs_refused("docs/metrics.md", "none\n", "reported number score (envs/a.cc) is")
        self.docs_refused("docs/metrics.md", "`score`\n",
                          "no test looks at the reported number score")
        self.write("envs/a_test.cc", 'EXPECT_EQ(run.value("score"), 1);\n')
        self.docs_accepted("docs/metrics.md", "`score`\n")

    def test_benchmarks_page(self):
        table = '{"one", "measures", run_one},\n'
        self.write("docs/benchmarks.md", "| `sluice bench two` | | |\n")
        self.docs_refused("bench/registry.cc", table, "benchmark one is missing")
        self.docs_refused("bench/registry.cc", table, "no benchmark two")


if __name__ == "__main__":
    unittest.main()
