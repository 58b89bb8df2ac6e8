import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const TEXT = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
/** Lines of a terminal; "Life of a request" fits into two. */
const SCREEN = 50;
const MAX_WORDS = 80;

/** The rooms of the tree, and the file that each names. */
function roomsOf(tree: string): Map<string, string> {
  const rooms = new Map<string, string>();
  const path: string[] = [];
  for (const [, indent = '', name = '', file = ''] of tree.matchAll(/^( *)([\w-]+)\/ +([\w-]+\.tsx?)?/gm)) {
    path.splice(indent.length / 2, path.length, name);
    rooms.set(path.slice(1).join('/'), file);
  }
  return rooms;
}

test('every room of src is in the tree, with a file of its own', () => {
  const [, tree = ''] = /^```\n(src\/[\s\S]*?)^```/m.exec(TEXT) ?? [];
  const named = roomsOf(tree);
  const rooms = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map(({ parentPath }) => parentPath.slice(join(ROOT, 'src/').length));
  expect(rooms.length).toBeGreaterThan(500);
  const wanted = [...new Set(rooms)].filter((room) => room !== '');
  const missing = wanted.filter((room) => !existsSync(join(ROOT, 'src', room, named.get(room) || '-')));
  expect(missing).toEqual([]);
});

test('the life of a request fits on two screens', () => {
  const [life = ''] = /^## Life of a request\n[\s\S]*?(?=^###? )/m.exec(TEXT) ?? [];
  expect(life).toContain('**Authenticate**');
  expect(life.split('\n').length).toBeLessThanOrEqual(2 * SCREEN);
});

test('no paragraph needs a second breath', () => {
  const prose = TEXT.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/^\|.*$/gm, '');
  const paragraphs = prose.split(/\n\s*\n|\n(?=- )/);
  expect(paragraphs.length).toBeGreaterThan(50);
  const long = paragraphs.filter((text) => text.split(/\s+/).length > MAX_WORDS);
  expect(long.map((text) => text.slice(0, 80))).toEqual([]);
});
