import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/cli/catalog.ts';
import { COMMAND_NAMES, pasteable } from '../../src/terminal/command-names.ts';
import { cliHome } from '../cli/cli-home.ts';

test('COMMAND_NAMES are the names and aliases of the catalog, and help', () => {
  const names = CATALOG.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect([...COMMAND_NAMES].sort()).toEqual([...names, 'help'].sort());
});

describe('pasteable()', () => {
  test.each([
    ['gw is not running. Run: gw start', 'gw is not running. Run: ./bin/gw start'],
    ['eval "$(gw env)", then gw top', 'eval "$(./bin/gw env)", then ./bin/gw top'],
    ['gw 0.1.0 runs; See: gw --help', 'gw 0.1.0 runs; See: ./bin/gw --help'],
    ['/opt/gw env, my-gw start, gw starts', '/opt/gw env, my-gw start, gw starts'],
  ])('rewrites commands so that they can be pasted: %s', (text, expected) => {
    expect(pasteable(text, './bin/gw')).toBe(expected);
    expect(pasteable(text, 'gw')).toBe(text);
  });

  test('applies to messages, not to data', async () => {
    const cli = cliHome();
    expect((await cli.exec(['status'])).stdout).toContain('next       ./bin/gw start');
    expect((await cli.exec(['usage', '--from', 'never'])).stderr).not.toMatch(/(?<!\/)gw [a-z]+ --/);
    expect((await cli.exec(['budget', 'st'])).stderr).toContain('See: ./bin/gw budget --help');
    expect((await cli.exec(['budget', 'set', '--oops'])).stderr).toContain('See: ./bin/gw budget set --help');
  });
});
