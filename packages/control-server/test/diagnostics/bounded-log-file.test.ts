import {
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { testHome } from '@holdfast/testbeds';
import { BoundedLogFile } from '../../src/diagnostics/bounded-log-file.ts';
import { createLog, errorFacts } from '../../src/diagnostics/log.ts';

const DAY = 24 * 3_600_000;
const BOUNDS = { maxBytes: 1000, backups: 3, maxAgeMs: 14 * DAY };

describe('the log file', () => {
  it('stays within its bounds of size and number, and keeps the newest lines [SURVIVAL-001.3]', async () => {
    await using home = await testHome();
    const path = home.path('logs', 'server.log');
    for (let run = 0; run < 2; run += 1) {
      const file = new BoundedLogFile(path, { bounds: BOUNDS, now: Date.now });
      for (let n = 0; n < 500; n += 1) file.write(`run ${String(run)} line ${String(n)}\n`);
      file.close();
    }
    const files = readdirSync(home.path('logs')).toSorted();
    expect(files).toEqual(['server.log', 'server.log.1', 'server.log.2', 'server.log.3']);
    for (const name of files) expect(statSync(home.path('logs', name)).size).toBeLessThanOrEqual(1000);
    expect(readFileSync(path, 'utf8')).toMatch(/run 1 line 499\n$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('forgets backups that are too old, and leaves other files alone', async () => {
    await using home = await testHome();
    const folder = await home.folder('logs');
    for (const name of ['server.log.1', 'server.log.2', 'server.log.99', 'server.log.keep', 'other.log.1']) {
      writeFileSync(home.path('logs', name), 'x');
    }
    const old = (Date.now() - 15 * DAY) / 1000;
    utimesSync(home.path('logs', 'server.log.2'), old, old);
    new BoundedLogFile(home.path('logs', 'server.log'), { bounds: BOUNDS, now: Date.now }).close();
    expect(readdirSync(folder).toSorted()).toEqual([
      'other.log.1',
      'server.log',
      'server.log.1',
      'server.log.keep',
    ]);
  });

  it('loses no backup while no new file can be made, and goes on when one can', async () => {
    await using home = await testHome();
    const path = home.path('server.log');
    const file = new BoundedLogFile(path, { bounds: BOUNDS, now: Date.now });
    const line = `${'x'.repeat(99)}\n`;
    writeFileSync(`${path}.3`, 'the oldest');
    mkdirSync(`${path}.next`);
    for (let n = 0; n < 50; n += 1) file.write(line);
    expect(readFileSync(path, 'utf8')).toBe(line.repeat(10));
    expect(readFileSync(`${path}.3`, 'utf8')).toBe('the oldest');
    rmdirSync(`${path}.next`);
    file.write(line);
    expect(readFileSync(path, 'utf8')).toBe(line);
    expect(readFileSync(`${path}.1`, 'utf8')).toBe(line.repeat(10));
    file.close();
  });

  it('makes its folder again when that was taken away', async () => {
    await using home = await testHome();
    const path = home.path('logs', 'server.log');
    const file = new BoundedLogFile(path, { bounds: BOUNDS, now: Date.now });
    const line = `${'x'.repeat(499)}\n`;
    rmSync(home.path('logs'), { recursive: true });
    for (let n = 0; n < 3; n += 1) file.write(line);
    expect(readFileSync(path, 'utf8')).toBe(line);
    file.close();
  });

  it('loses lines, and no more, while its folder is something else', async () => {
    await using home = await testHome();
    const path = home.path('logs', 'server.log');
    const file = new BoundedLogFile(path, { bounds: BOUNDS, now: Date.now });
    const line = `${'x'.repeat(499)}\n`;
    rmSync(home.path('logs'), { recursive: true });
    writeFileSync(home.path('logs'), '');
    for (let n = 0; n < 3; n += 1) file.write(line);
    rmSync(home.path('logs'));
    file.write('the last line\n');
    expect(readFileSync(path, 'utf8')).toBe('the last line\n');
    file.close();
  });

  it('leaves a device as it is', () => {
    const before = statSync('/dev/null');
    const file = new BoundedLogFile('/dev/null', { bounds: BOUNDS, now: Date.now });
    for (let n = 0; n < 50; n += 1) file.write(`${'x'.repeat(99)}\n`);
    file.close();
    const after = statSync('/dev/null');
    expect([after.isCharacterDevice(), after.mode, after.ino]).toEqual([true, before.mode, before.ino]);
  });

  it('takes lines after its end for lost', async () => {
    await using home = await testHome();
    const file = new BoundedLogFile(home.path('server.log'), { bounds: BOUNDS, now: Date.now });
    file.close();
    expect(() => {
      file.write('to a descriptor that is closed\n');
    }).not.toThrow();
    expect(readFileSync(home.path('server.log'), 'utf8')).toBe('');
  });

  it('does not open where it cannot write', () => {
    expect(() => new BoundedLogFile('/proc/none/server.log', { bounds: BOUNDS, now: Date.now })).toThrow(
      'ENOENT',
    );
  });

  it('survives a full disk', () => {
    const file = new BoundedLogFile('/dev/full', { bounds: BOUNDS, now: Date.now });
    expect(() => {
      createLog(file).info({ instanceId: 'i' }, 'nobody will read this');
    }).not.toThrow();
    file.close();
  });
});

describe('the log', () => {
  it('says of an error what and where, but not its message, which may hold anything', () => {
    const lines: string[] = [];
    const log = createLog({ write: (line) => lines.push(line) });
    log.error(errorFacts(Object.assign(new TypeError('token=secret'), { code: 'EX' })), 'it failed');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, error: 'TypeError EX', msg: 'it failed' });
    expect(lines[0]).toContain('bounded-log-file.test');
    expect(lines[0]).not.toContain('secret');
  });
});
