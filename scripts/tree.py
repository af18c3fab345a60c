"""The files of a tree that checks look at: what git tracks or would track; all files without git.

python3 scripts/tree.py [-0] [SUFFIX..] lists those of the current folder.
"""
import os
import subprocess
import sys

SKIPPED_FOLDERS = {".git", "build", "runs", ".cache"}


def files(root, suffixes=()):
    """Sorted paths relative to root, of the files whose names end in one of the suffixes."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = None
    if os.path.exists(os.path.join(root, ".git")):
        done = subprocess.run(command, capture_output=True)
        if done.returncode == 0:
            listed = [name for name in done.stdout.decode().split("\0") if name]
    if listed is None:
        listed = []
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders
                          if f not in SKIPPED_FOLDERS and not f.startswith(".deps")]
            listed += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted({name for name in listed
                   if (not suffixes or name.endswith(tuple(suffixes)))
                   and os.path.isfile(os.path.join(root, name))})


if __name__ == "__main__":
    arguments = sys.argv[1:]
    end = "\0" if arguments[:1] == ["-0"] else "\n"
    for name in files(os.getcwd(), [a for a in arguments if a != "-0"]):
        sys.stdout.write(name + end)
