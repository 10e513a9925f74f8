import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { standalone } from '@holdfast/executor-standalone';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { testHome } from '@holdfast/testbeds';
import { createHost } from '../../src/index.ts';

it('gives the files of a session where its agent runs, and only those, and what its control server measures', async () => {
  await using home = await testHome('files');
  const workspace = await home.folder('workspace');
  await writeFile(home.path('secret'), 'secret');
  const host = await createHost({
    home: home.path('home'),
    runtimes: [standalone()],
    agents: { scripted: { command: scriptedAgentCommand() } },
  });
  try {
    const session = await host.sessions.create({
      taskId: 'task',
      agent: 'scripted',
      runtime: 'standalone',
      workspace: { kind: 'local', path: workspace },
    });
    const path = join(workspace, 'made');
    const turn = await session.prompt(
      script({ step: 'request', method: 'fs/write_text_file', params: { path, content: 'by the agent' } }),
    );
    expect(await turn.outcome).toMatchObject({ kind: 'completed' });
    const { entries } = await session.files.list();
    expect(entries.find(({ name }) => name === 'made')).toMatchObject({ kind: 'file', sizeBytes: 12 });
    expect(Buffer.from(await session.files.read('made')).toString()).toBe('by the agent');
    expect(Buffer.from(await session.files.read('made', { offset: 3, limit: 3 })).toString()).toBe('the');
    await expect(session.files.read('../secret')).rejects.toMatchObject({ code: 'path_outside_roots' });
    await expect(session.files.read('gone')).rejects.toMatchObject({ code: 'file_not_found' });
    const [metrics] = await host.serverMetrics();
    expect(metrics?.scope).toBe('standalone');
    expect(metrics?.text).toContain('holdfast_instances{status="ready"} 1\n');
    await session.stop();
    await expect(session.files.list()).rejects.toMatchObject({ code: 'session_not_live' });
  } finally {
    await host.close({ agents: 'stop' });
  }
  await expect(host.serverMetrics()).rejects.toMatchObject({ code: 'host_closed' });
});
