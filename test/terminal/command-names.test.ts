import { expect, test } from 'vitest';
import { CATALOG } from '../../src/cli/catalog.ts';
import { COMMAND_NAMES } from '../../src/terminal/command-names.ts';

test('COMMAND_NAMES are the names and aliases of the catalog, and help', () => {
  const names = CATALOG.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect([...COMMAND_NAMES].sort()).toEqual([...names, 'help'].sort());
});
