import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { scorePrompt } from '../../src/tiering/score.ts';

const yardstick = resolve(process.env.GW_SHARED ?? '../shared', 'router-eval');
const present = existsSync(yardstick);

interface Case {
  id: string;
  benchmark: string;
  prompt: string;
  alt?: Record<string, [number, number]>;
}

interface Yardstick {
  loadCases(directories: string[]): Case[];
  strongOf(one: Case): number;
  weakOf(one: Case): number;
  /** Area under the curve of performance gained against the share of strong calls; random is 0.5. */
  fineApgr(scores: number[], strong: number[], weak: number[]): number;
}

/** Every benchmark with every pair of models: the cases, and what the strong and the weak model got. */
function rowsOf({ loadCases, strongOf, weakOf }: Yardstick): Map<string, [Case, number, number][]> {
  const rows = new Map<string, [Case, number, number][]>();
  for (const one of loadCases([resolve(yardstick, 'dev')])) {
    const pairs = { primary: [strongOf(one), weakOf(one)] as [number, number], ...one.alt };
    for (const [pair, [strong, weak]] of Object.entries(pairs)) {
      const name = `${one.benchmark}/${pair}`;
      const row = rows.get(name) ?? [];
      row.push([one, strong, weak]);
      rows.set(name, row);
    }
  }
  return rows;
}

describe.skipIf(!present)(
  `the scores on the yardstick ${present ? '' : `(${yardstick} is absent)`}`,
  async () => {
    if (!present) return;
    const tool = (await import(pathToFileURL(resolve(yardstick, 'score.mjs')).href)) as Yardstick;
    const rows = rowsOf(tool);
    const apgr = (name: string, rank: (prompt: string) => number) => {
      const row = rows.get(name) ?? [];
      return tool.fineApgr(
        row.map(([one]) => rank(one.prompt)),
        row.map(([, strong]) => strong),
        row.map(([, , weak]) => weak),
      );
    };
    const score = (text: string) => scorePrompt([{ role: 'user', content: text }]).score;

    test.each([...rows.keys()])('is not below 0.47 on %s', (name) => {
      expect(apgr(name, score)).toBeGreaterThan(0.47);
    });

    test('beats prompt length where lengths matter, and on average', () => {
      const names = [...rows.keys()];
      const mean = (rank: (prompt: string) => number) =>
        names.reduce((sum, name) => sum + apgr(name, rank), 0) / names.length;
      expect(mean(score)).toBeGreaterThan(mean((text) => text.length) + 0.01);
      expect(apgr('mmlu/primary', score)).toBeGreaterThan(0.62);
      expect(apgr('gsm8k/primary', score)).toBeGreaterThan(0.635);
      expect(apgr('mt-bench/primary', score)).toBeGreaterThan(0.75);
    });
  },
);
