import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { InstanceOf, SETTINGS, ownedServer } from '../support/owned-server.ts';
import { rawRequest } from '../support/raw-request.ts';

function samples(text: string): ReadonlyMap<string, number> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(
        (line) =>
          [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))] as const,
      ),
  );
}

describe('the metrics', () => {
  it('tell of the server, its requests and its instances, as OpenMetrics', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, { step: 'say', text: 'hello' });
    await instance.untilIt('the turn to end', ({ retainedOutcomes }) => retainedOutcomes === 1);
    await expect(owned.client.call('cancel', { instanceId: 'nobody', turnId: 'none' })).rejects.toMatchObject(
      {
        code: 'instance_not_found',
      },
    );
    const { journal } = await instance.describe();

    const text = await owned.client.call('getMetrics', {});
    expect(text.trimEnd().endsWith('# EOF')).toBe(true);
    expect(text).toContain('# TYPE holdfast_journal_events counter\n');
    const label = `instance_id="${instance.instanceId}"`;
    const measured = samples(text);
    expect(measured.get('holdfast_instances{status="ready"}')).toBe(1);
    expect(measured.get('holdfast_instances{status="failed"}')).toBe(0);
    expect(measured.get(`holdfast_instance_attached{${label}}`)).toBe(0);
    expect(measured.get(`holdfast_instance_retained_outcomes{${label}}`)).toBe(1);
    expect(measured.get(`holdfast_journal_unacknowledged_events{${label}}`)).toBe(journal.unacknowledged);
    expect(measured.get(`holdfast_journal_events_total{${label}}`)).toBe(journal.nextSeq - 1);
    expect(measured.get('holdfast_http_requests_total{operation="startAgent",status="200"}')).toBe(1);
    expect(measured.get('holdfast_http_requests_total{operation="cancel",status="404"}')).toBe(1);
    expect(measured.get('holdfast_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(measured.get('holdfast_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1000);
  });

  it('tell of pauses and of events that were let go', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 1 } });
    const instance = await InstanceOf.create(owned);
    await instance.start({ mcpServers: [{ name: 'tools', command: '/nowhere', args: [], env: [] }] });
    await instance.prompt(1, { step: 'say', text: 'hello' });
    await instance.untilIt('the agent to be paused', ({ journal }) => journal.paused);
    const measured = samples(await owned.client.call('getMetrics', {}));
    const label = `instance_id="${instance.instanceId}"`;
    expect(measured.get(`holdfast_journal_pauses_total{${label}}`)).toBe(1);
    expect(measured.get(`holdfast_journal_paused_seconds_total{${label}}`)).toBeGreaterThan(0);
    const dropped = (type: string): number | undefined =>
      measured.get(`holdfast_journal_dropped_events_total{${label},type="${type}"}`);
    // Nobody was attached when the agent got its MCP server.
    expect(dropped('mcp_attachment_attempt')).toBe(1);
    expect(dropped('mcp_attachment_evidence')).toBe(0);
    const log = await readFile(owned.server.logFile, 'utf8');
    expect(log.match(/an event that may be lost was let go/g)).toHaveLength(1);
  });

  it('are for the driver only, with the media type that scrapers expect, and count who was refused', async () => {
    await using owned = await ownedServer();
    const path = '/api/v1/metrics';
    expect((await rawRequest(owned.server.endpoint, { path })).status).toBe(401);
    expect((await rawRequest(owned.server.endpoint, { path: '/nothing' })).status).toBe(404);
    const { headers, text } = await rawRequest(owned.server.endpoint, {
      path,
      headers: { Authorization: `Bearer ${owned.credential}` },
    });
    expect(headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    const measured = samples(text);
    expect(measured.get('holdfast_http_requests_total{operation="getMetrics",status="401"}')).toBe(1);
    expect(measured.get('holdfast_http_requests_total{operation="none",status="404"}')).toBe(1);
    expect(text).not.toContain(owned.credential);
    expect(text).not.toContain(owned.home.root);
  });
});
