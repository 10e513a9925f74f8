import { describe, expect, it } from '@jest/globals';
import { serviceUnitOf, type ServiceUnit } from '../src/service-unit.ts';

interface Case {
  readonly where: string;
  readonly cgroup: string;
  readonly unit: ServiceUnit;
}

const none: ServiceUnit = { kind: 'none' };
const service = (unit: string, manager: 'system' | 'user' = 'system'): ServiceUnit => ({
  kind: 'service',
  unit,
  manager,
});

const HYBRID = `12:pids:/system.slice/myapp.service
11:memory:/system.slice/myapp.service
10:devices:/system.slice/myapp.service
9:freezer:/
4:cpu,cpuacct:/
1:name=systemd:/system.slice/myapp.service
0::/system.slice/myapp.service
`;

const DOCKER_ON_HYBRID = `12:pids:/docker/3601745b3bd54d9780436faa5f0e4f72bb46231663bb99a6bb892764917832c2
2:cpu,cpuacct:/docker/3601745b3bd54d9780436faa5f0e4f72bb46231663bb99a6bb892764917832c2
1:name=systemd:/docker/3601745b3bd54d9780436faa5f0e4f72bb46231663bb99a6bb892764917832c2
0::/system.slice/containerd.service
`;

const CASES: readonly Case[] = [
  { where: 'no /proc', cgroup: '', unit: none },
  { where: 'a v1 machine without systemd', cgroup: '3:cpuset:/\n2:cpu:/\n1:memory:/\n', unit: none },
  { where: 'a service (v2)', cgroup: '0::/system.slice/myapp.service\n', unit: service('myapp.service') },
  { where: 'a service (hybrid)', cgroup: HYBRID, unit: service('myapp.service') },
  {
    where: 'a service (v1)',
    cgroup: '4:memory:/system.slice\n1:name=systemd:/system.slice/myapp.service\n',
    unit: service('myapp.service'),
  },
  {
    where: 'a service made from a template',
    cgroup: '0::/system.slice/system-myapp.slice/myapp@blue\\x2dgreen.service\n',
    unit: service('myapp@blue\\x2dgreen.service'),
  },
  {
    where: 'a group that a service with Delegate= made for itself',
    cgroup: '0::/system.slice/myapp.service/workers\n',
    unit: service('myapp.service'),
  },
  {
    where: 'a service whose name had to be escaped',
    cgroup: '0::/system.slice/_cpu.myapp.service\n',
    unit: service('cpu.myapp.service'),
  },
  {
    where: 'a service that has been stopped under it',
    cgroup: '0::/system.slice/myapp.service (deleted)\n',
    unit: service('myapp.service'),
  },
  {
    where: 'a service of the user manager',
    cgroup: '0::/user.slice/user-1000.slice/user@1000.service/app.slice/myapp.service\n',
    unit: service('myapp.service', 'user'),
  },
  {
    where: 'a service of the user manager of old',
    cgroup: '1:name=systemd:/user.slice/user-1000.slice/user@1000.service/myapp.service\n',
    unit: service('myapp.service', 'user'),
  },
  {
    where: 'a login',
    cgroup: '0::/user.slice/user-1000.slice/session-3.scope\n',
    unit: none,
  },
  {
    where: 'a desktop terminal',
    cgroup:
      '0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal.slice/vte-spawn-0f5d4ae6-88f4-4b4b-8fb3-1f2d7c5a8f9e.scope\n',
    unit: none,
  },
  {
    where: 'a scope that systemd-run made',
    cgroup: '0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r8b1c.scope\n',
    unit: none,
  },
  {
    where: 'a container (v2, the host’s namespace)',
    cgroup:
      '0::/system.slice/docker-3601745b3bd54d9780436faa5f0e4f72bb46231663bb99a6bb892764917832c2.scope\n',
    unit: none,
  },
  {
    where: 'a container of Kubernetes',
    cgroup:
      '0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0e2d.slice/cri-containerd-5f2c.scope\n',
    unit: none,
  },
  {
    where: 'a rootless container',
    cgroup: '0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-9c1a.scope/container\n',
    unit: none,
  },
  {
    where: 'systemd inside a container, seen from the host',
    cgroup: '0::/system.slice/docker-3601.scope/system.slice/myapp.service\n',
    unit: service('myapp.service'),
  },
  {
    where: 'systemd inside a container',
    cgroup: '0::/system.slice/myapp.service\n',
    unit: service('myapp.service'),
  },
  {
    where: 'a service outside the root of the namespace',
    cgroup: '0::/../../system.slice/myapp.service\n',
    unit: service('myapp.service'),
  },
  {
    where: 'a service whose name has a colon',
    cgroup: '0::/system.slice/a:b.service\n',
    unit: service('a:b.service'),
  },
  {
    where: 'a container on a hybrid machine, whose engine is a service',
    cgroup: DOCKER_ON_HYBRID,
    unit: none,
  },
  { where: 'a slice only', cgroup: '0::/user.slice\n', unit: none },
  { where: 'a group that is called like a suffix', cgroup: '0::/system.slice/.service\n', unit: none },
];

describe('serviceUnitOf', () => {
  it.each(CASES)('$where', ({ cgroup, unit }) => {
    expect(serviceUnitOf({ cgroup, environment: {}, userId: 1000 })).toEqual(unit);
    // It is handed down to children that are elsewhere by now, so it decides nothing where the group can be seen.
    const environment = { INVOCATION_ID: '07f9de6c42464d5baaab601e276e4522' };
    expect(serviceUnitOf({ cgroup, environment, userId: 1000 })).toEqual(unit);
  });

  it('knows a service by its invocation where its group is hidden, and asks the manager of its user', () => {
    const environment = { INVOCATION_ID: '07f9de6c42464d5baaab601e276e4522' };
    const hidden = { kind: 'service', unit: null };
    for (const cgroup of ['0::/\n', '1:name=systemd:/\n0::/\n']) {
      expect(serviceUnitOf({ cgroup, environment, userId: 0 })).toEqual({ ...hidden, manager: 'system' });
      expect(serviceUnitOf({ cgroup, environment, userId: 1000 })).toEqual({ ...hidden, manager: 'user' });
      // A container with a namespace of its own, or a machine without systemd.
      expect(serviceUnitOf({ cgroup, environment: {}, userId: 0 })).toEqual(none);
    }
  });

  it('finds a service under whatever slices and groups, and never one behind a scope', () => {
    const outer = ['', 'a.slice', 'a.slice/a-b.slice', 'group', 'a.slice/group', 'b.service', 'b.scope'];
    const inner = ['', '/group', '/group/group', '/c.slice', '/.hidden'];
    for (const before of outer) {
      for (const after of inner) {
        const cgroup = (unit: string): string => `0::/${before === '' ? '' : `${before}/`}${unit}${after}\n`;
        const found = (unit: string): ServiceUnit =>
          serviceUnitOf({ cgroup: cgroup(unit), environment: {}, userId: 1 });
        expect(found('app.service')).toEqual(service('app.service'));
        expect(found('app.scope')).toEqual(none);
      }
    }
  });

  it.each(['\n', '0', '0::', '::/a.service', 'x::/a.service', '0:/a.service', '0::/\0.service'])(
    'takes %j for nothing',
    (cgroup) => {
      expect(serviceUnitOf({ cgroup, environment: {}, userId: 1 })).toEqual(none);
    },
  );
});
