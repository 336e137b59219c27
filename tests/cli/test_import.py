import subprocess
import sys


def test_importing_the_library_and_its_command_loads_no_heavy_package():
    code = (
        "import sys, aor_lib, aor_lib.cli, aor_lib.config.records, aor_lib.config.params\n"
        "heavy = {'torch', 'transformers', 'sklearn', 'pandas', 'onnxruntime', 'altair'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
