import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tmpHome } from './tmp-home.ts';

const homes: string[] = [];

test('tmpHome() makes a directory of its own', () => {
  homes.push(tmpHome(), tmpHome());
  expect(homes[0]).not.toBe(homes[1]);
  for (const home of homes) writeFileSync(join(home, 'gw.db'), 'x');
});

test('tmpHome() removes it with all that is in it after the test', () => {
  expect(homes.map((home) => existsSync(home))).toEqual([false, false]);
});
