#!/usr/bin/python
# Copyright: the Hawser project
# SPDX-License-Identifier: Apache-2.0

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: exports
short_description: Has a head offer a pool as its exports.toml says
version_added: 0.1.0
description:
  - Runs C(hawser exports verify) on the head that has the pool, and C(hawser exports start) when something differs.
  - A start is all or nothing, and a mistake in the file changes nothing.
  - In check mode says what a start would do.
extends_documentation_fragment:
  - hawser.cluster.hawser
options:
  pool:
    description: The pool.
    type: str
    required: true
  host:
    description: The head that has it, as an ssh destination, or a node of I(lab). By default the control node itself.
    type: str
author:
  - The Hawser project (@hawser)
"""

EXAMPLES = r"""
- name: What the pool's exports.toml says is offered
  hawser.cluster.exports:
    pool: vmpool01
    host: root@head1
"""

RETURN = r"""
done:
  description: What was done, or would be, in words.
  returned: success
  type: list
  elements: str
"""

from ansible_collections.hawser.cluster.plugins.module_utils.hawser import Hawser


def main():
    module = Hawser({"pool": {"type": "str", "required": True}, "host": {"type": "str"}})
    where = module.words("host", "lab", "ssh_config") + ["--", module.params["pool"]]
    code, report, err = module.json("exports", "verify", "--json", *where)
    done = report["pending"]
    if code == 1 and not module.check_mode:
        dummy, out, err = module.hawser("exports", "start", *where)
        done = out.splitlines()[:-1]
    prepared = "".join("+ {0}\n".format(line) for line in report["pending"])
    module.exit_json(changed=code == 1, done=done, diff={"prepared": prepared})


if __name__ == "__main__":
    main()
