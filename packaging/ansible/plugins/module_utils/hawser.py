# Copyright: the Hawser project
# SPDX-License-Identifier: Apache-2.0
"""Runs hawser on this machine, without a shell, and takes its JSON."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import json
import re

from ansible.module_utils.basic import AnsibleModule

# What each module takes.
COMMON = {
    "lab": {"type": "str"},
    "ssh_config": {"type": "path"},
    "hawser": {"type": "path", "default": "hawser"},
}

# The cluster file, for those that take one.
FILE = {"file": {"type": "path"}}


class Hawser(AnsibleModule):
    """A module whose work hawser does."""

    def __init__(self, options, **more):
        spec = dict(COMMON)
        spec.update(options)
        super(Hawser, self).__init__(argument_spec=spec, supports_check_mode=True, **more)

    def words(self, *names):
        """The options of hawser with these names, as far as they are given; a value is never a word of its own."""
        words = []
        for name in names:
            value = self.params.get(name)
            if value is not None:
                words.append("--{0}={1}".format(name.replace("_", "-"), value))
        return words

    def hawser(self, *words):
        """What it printed and its exit code, 0 or 1; ends the module when it could not do its work (2)."""
        argv = [self.get_bin_path(self.params["hawser"], required=True)] + list(words)
        code, out, err = self.run_command(argv, environ_update={"LC_ALL": "C.UTF-8", "COLUMNS": ""})
        if code not in (0, 1):
            self.fail_json(msg=message(err) or "hawser ended with {0}".format(code), cmd=argv, rc=code)
        return code, out, err

    def json(self, *words):
        """The same of a verb that prints one JSON object."""
        code, out, err = self.hawser(*words)
        try:
            return code, json.loads(out), err
        except ValueError:
            self.fail_json(msg="hawser printed no JSON", stdout=out, stderr=err, rc=code)


def message(text):
    """The error in what hawser said on standard error, without the frame around it."""
    lines = text.splitlines()
    begin = [at for at, line in enumerate(lines) if line.lstrip().startswith("\u00d7")]
    lines = [re.sub("^ *[\u00d7\u2502\u2570\u2500\u25b6]+ ?", "", line) for line in lines[begin[-1] if begin else 0:]]
    return "\n".join(lines).strip()
