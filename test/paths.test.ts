import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeHome } from '../src/paths.ts';
import { tmpHome } from './support/tmp-home.ts';

describe('makeHome()', () => {
  test('makes a directory with those that it is in, for its owner alone, and leaves one that is there', () => {
    const outer = join(tmpHome(), 'a');
    const home = join(outer, 'b', 'ünï');
    makeHome({ home });
    makeHome({ home });
    for (const made of [outer, home]) expect(statSync(made).mode & 0o777).toBe(0o700);
    mkdirSync(join(outer, 'open'), { mode: 0o755 });
    makeHome({ home: join(outer, 'open') });
    expect(statSync(join(outer, 'open')).mode & 0o777).toBe(0o755);
  });

  test('says what to do where it cannot be made', () => {
    const file = join(tmpHome(), 'file');
    writeFileSync(file, '');
    for (const home of [file, join(file, 'x'), join(file, 'x', 'y')]) {
      expect(() => makeHome({ home })).toThrow(
        /^cannot make gw's directory .* To use another: export GW_HOME=/,
      );
    }
  });

  test.runIf(process.platform === 'linux')('gives up where directories cannot be, as in /proc', () => {
    expect(() => makeHome({ home: '/proc/none/gw' })).toThrow(/there is no folder \/proc\/none/);
  });
});
