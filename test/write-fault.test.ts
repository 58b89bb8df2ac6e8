import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GwError } from '../src/errors.ts';
import { reasonOf, writing } from '../src/write-fault.ts';
import { tmpHome } from './support/tmp-home.ts';

const failing = (code: string) => Object.assign(new Error(`${code}: as the system says it`), { code });

describe('writing()', () => {
  test('hands on what was written', () => {
    expect(writing('/tmp/x', () => 3)).toBe(3);
  });

  test.runIf(existsSync('/dev/full'))('says that the disk is full', () => {
    expect(() => writing('/dev/full', () => writeFileSync('/dev/full', 'x'))).toThrow(
      'cannot write /dev/full: its disk is full. Free some space, and try again',
    );
  });

  test('names what is in the way', () => {
    const home = tmpHome();
    expect(() => writing(home, () => writeFileSync(home, 'x'))).toThrow(
      `cannot write ${home}: it is a folder. Move it away, or name a file`,
    );
    const lost = join(home, 'no such', 'file');
    expect(() => writing(lost, () => writeFileSync(lost, 'x'))).toThrow(
      `cannot write ${lost}: there is no folder ${join(home, 'no such')}. To make it: mkdir -p '${join(home, 'no such')}'`,
    );
  });

  test.each([
    ['EROFS', 'its disk is mounted read-only. Mount it for writing, and try again'],
    ['EACCES', 'you may not write there. See who may: ls -ld /srv'],
    ['EDQUOT', 'your quota of its disk is used up. Free some space, and try again'],
    ['SQLITE_FULL', 'its disk is full. Free some space, and try again'],
    ['EOTHER', 'EOTHER: as the system says it'],
  ])('puts %s into words, and keeps the cause', (code, words) => {
    const cause = failing(code);
    const fail = () =>
      writing('/srv/gw.db', () => {
        throw cause;
      });
    expect(fail).toThrow(`cannot write /srv/gw.db: ${words}`);
    expect(fail).toThrow(GwError);
    expect(fail).toThrow(expect.objectContaining({ code: 'storage_unavailable', cause }));
  });

  test.runIf(process.platform === 'linux')('knows a full disk that SQLite takes for a broken one', () => {
    // A file system without any room.
    expect(reasonOf('/proc/gw.db', failing('SQLITE_IOERR_SHMSIZE')).why).toBe('its disk is full');
    expect(reasonOf(join(tmpHome(), 'gw.db'), failing('SQLITE_IOERR_READ')).why).toMatch(/^SQLITE_IOERR/);
  });
});
