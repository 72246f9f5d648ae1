#!/usr/bin/python
# Copyright: the Hawser project
# SPDX-License-Identifier: Apache-2.0

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: check
short_description: Measures the interconnect and says where each lost packet went
version_added: 0.1.0
description:
  - Runs C(hawser check), gently. It changes nothing on the nodes, and measures in check mode too.
  - Fails when it finds something, unless I(fail) is false.
extends_documentation_fragment:
  - hawser.cluster.hawser
  - hawser.cluster.hawser.file
options:
  hosts:
    description: The hosts, as ssh destinations, two or more, instead of a cluster file.
    type: list
    elements: str
  fail:
    description: Fail when something is found.
    type: bool
    default: true
author:
  - The Hawser project (@hawser)
"""

EXAMPLES = r"""
- name: Every link loses nothing
  hawser.cluster.check:
    hosts: [root@head1, root@head2]

- name: What there is to say of a lab
  hawser.cluster.check:
    lab: demo
    fail: false
  register: check
"""

RETURN = r"""
found:
  description: Whether something was found.
  returned: success
  type: bool
report:
  description: All of what C(hawser check --json) printed, findings and account.
  returned: success
  type: dict
"""

from ansible_collections.hawser.cluster.plugins.module_utils.hawser import FILE, Hawser


def main():
    module = Hawser(
        dict(
            FILE,
            hosts={"type": "list", "elements": "str"},
            fail={"type": "bool", "default": True},
        ),
        mutually_exclusive=[("hosts", "file", "lab")],
    )
    words = ["check", "--json"] + module.words("file", "lab", "ssh_config")
    words += ["--host=" + host for host in module.params["hosts"] or []]
    code, report, err = module.json(*words)
    found = ["{code}: {text}".format(**finding) for finding in report.get("findings", [])]
    result = {"changed": False, "found": code == 1, "report": report}
    if code == 1 and module.params["fail"]:
        module.fail_json(msg="\n".join(found) or "hawser check found something", **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
