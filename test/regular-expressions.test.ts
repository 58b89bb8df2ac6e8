import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { analyse } from 'scslre';
import { parseSync } from 'vite';
import { expect, test, vi } from 'vitest';

// Text of clients and providers must not keep a thread busy: no expression may need more than linear time. `scslre` finds
// the quantifiers that make a search quadratic or worse.
const SRC = join(import.meta.dirname, '../src');

interface Expression {
  pattern: string;
  flags: string;
}

/** The expressions that are written as literals in a source text. */
function literalsIn(file: string, source: string): Expression[] {
  const found: Expression[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('regex' in node && node.regex) found.push(node.regex as Expression);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(file, source).program);
  return found;
}

function slowQuantifiers({ pattern, flags }: Expression): string[] {
  const options = {
    reportTypes: { Move: true, Trade: true, Self: true },
    assumeRejectingSuffix: false,
  } as const;
  return analyse({ source: pattern, flags }, options).reports.map(
    ({ type }) => `${type} in /${pattern}/${flags}`,
  );
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

test('every regular expression of src takes linear time', { timeout: 180_000 }, () => {
  const slow = files.flatMap((file) =>
    literalsIn(file, readFileSync(join(SRC, file), 'utf8'))
      .flatMap(slowQuantifiers)
      .map((fault) => `${file}: ${fault}`),
  );
  expect(slow).toEqual([]);
});

test('so does every one that is put together when a module is loaded', { timeout: 180_000 }, async () => {
  const made: Expression[] = [];
  vi.resetModules();
  const Original = RegExp;
  vi.stubGlobal(
    'RegExp',
    class extends Original {
      constructor(pattern: RegExp | string, flags?: string) {
        super(pattern, flags);
        made.push({ pattern: this.source, flags: this.flags });
      }
    },
  );
  try {
    await import('../src/compression/compress-request.ts');
  } finally {
    vi.unstubAllGlobals();
  }
  expect(made.length).toBeGreaterThan(3);
  expect(made.flatMap(slowQuantifiers)).toEqual([]);
});

test.each(['/0+$/', '/\\s+$/m', '/^(a+)+$/', '/^a*b*a*$/', '/:.*$/'])('%s is found to be slow', (literal) => {
  expect(literalsIn('a.ts', `x = ${literal}`).flatMap(slowQuantifiers)).not.toEqual([]);
});
