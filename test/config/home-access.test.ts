import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pathsOthersMayWrite, refuseInsecureHome } from '../../src/config/home-access.ts';
import { resolvePaths } from '../../src/paths.ts';
import { tmpHome } from '../support/tmp-home.ts';

/** A home in a directory that others may enter. */
function nested() {
  const parent = tmpHome();
  chmodSync(parent, 0o755);
  const home = join(parent, 'gw');
  mkdirSync(home, { mode: 0o700 });
  return { parent, home, paths: resolvePaths({ GW_HOME: home }) };
}

describe('refuseInsecureHome()', () => {
  test('accepts a home that only its owner may write to, and one that does not exist yet', () => {
    const { paths, parent } = nested();
    const missing = resolvePaths({ GW_HOME: join(parent, 'new') });
    for (const each of [paths, missing]) expect(() => refuseInsecureHome(each)).not.toThrow();
  });

  test.each([0o777, 0o770, 0o720, 0o702, 0o1777])('refuses a home with mode %o', (mode) => {
    const { home, paths } = nested();
    chmodSync(home, mode);
    expect(() => refuseInsecureHome(paths)).toThrow(`other users may write to ${home}`);
    expect(() => refuseInsecureHome(paths)).toThrow(/chmod go-w .*--insecure-home/);
  });

  test.each(['config.json', 'credentials.json', 'gw.db', 'daemon.lock'])('refuses an open %s', (name) => {
    const { home, paths } = nested();
    writeFileSync(join(home, name), '{}');
    chmodSync(join(home, name), 0o666);
    expect(() => refuseInsecureHome(paths)).toThrow(`other users may write to ${join(home, name)}`);
  });

  test.each([
    [0o777, true],
    [0o775, true],
    [0o1777, false],
    [0o755, false],
    // Others can't come this far.
    [0o700, false],
  ])('takes a parent with mode %o for insecure: %s', (mode, isInsecure) => {
    const { parent, paths } = nested();
    chmodSync(parent, mode);
    expect(pathsOthersMayWrite(paths).map(({ path }) => path)).toEqual(isInsecure ? [parent] : []);
  });

  test('looks at the parents of the link and of its target', () => {
    const { parent, home } = nested();
    const links = tmpHome();
    chmodSync(links, 0o755);
    symlinkSync(home, join(links, 'gw'));
    const paths = resolvePaths({ GW_HOME: join(links, 'gw') });
    refuseInsecureHome(paths);
    for (const each of [parent, links]) {
      chmodSync(each, 0o777);
      expect(() => refuseInsecureHome(paths)).toThrow(each);
      chmodSync(each, 0o755);
    }
  });

  test('refuses what belongs to another user than root', () => {
    const { paths } = nested();
    const stranger = (process.getuid?.() ?? 0) + 1;
    const owned = pathsOthersMayWrite(paths, stranger);
    expect(owned.length > 0).toBe(process.getuid?.() !== 0);
  });
});
