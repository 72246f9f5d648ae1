#!/usr/bin/python
# Copyright: the Hawser project
# SPDX-License-Identifier: Apache-2.0

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: plan
short_description: Says what differs between the cluster file and the nodes
version_added: 0.1.0
description:
  - Runs C(hawser plan). It changes nothing on the nodes, so it never says C(changed); C(differs) says whether M(hawser.cluster.apply) would.
  - Fails when something must be fixed before anything can be applied, unless I(fail) is false.
extends_documentation_fragment:
  - hawser.cluster.hawser
  - hawser.cluster.hawser.file
options:
  out:
    description:
      - Where the plan is saved, for I(plan) of M(hawser.cluster.apply). It is written for its owner alone.
      - Nothing is written in check mode.
    type: path
  fail:
    description: Fail when something must be fixed first.
    type: bool
    default: true
author:
  - The Hawser project (@hawser)
"""

EXAMPLES = r"""
- name: Nothing has drifted
  hawser.cluster.plan:
    file: hawser.toml
  register: plan
  failed_when: plan is failed or plan.differs

- name: A plan for somebody to review
  hawser.cluster.plan:
    file: hawser.toml
    out: plan.json
"""

RETURN = r"""
differs:
  description: Whether the nodes are not what the file says.
  returned: success
  type: bool
changes:
  description: What would be changed, in the order it is done.
  returned: success
  type: list
  elements: dict
consequence:
  description: What Pacemaker would do about it.
  returned: success
  type: list
  elements: str
problems:
  description: What must be fixed first.
  returned: success
  type: list
  elements: str
"""

from ansible_collections.hawser.cluster.plugins.module_utils.hawser import FILE, Hawser


def main():
    module = Hawser(dict(FILE, out={"type": "path"}, fail={"type": "bool", "default": True}))
    words = ["plan", "--json", "--diff"] + module.words("file", "lab", "ssh_config")
    if not module.check_mode:
        words += module.words("out")
    dummy, plan, err = module.json(*words)
    result = {
        "changed": False,
        "differs": bool(plan["changes"]),
        "changes": plan["changes"],
        "consequence": plan["consequence"],
        "problems": plan["problems"],
        "diff": {"prepared": plan.get("diff") or ""},
    }
    if plan["problems"] and module.params["fail"]:
        module.fail_json(msg="fix this first:\n" + "\n".join(plan["problems"]), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
