import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { learnAll } from '../../src/tiering/learner/learner.ts';
import { newLearner } from '../../src/tiering/learner/learner-state.ts';
import { readPrompt } from '../../src/tiering/prompt.ts';
import { scorePrompt } from '../../src/tiering/score.ts';
import { seededRandom } from '../routing/seeded-random.ts';

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
    const apgr = (name: string, score: (prompt: string) => number) => {
      const row = rows.get(name) ?? [];
      return tool.fineApgr(
        row.map(([one]) => score(one.prompt)),
        row.map(([, strong]) => strong),
        row.map(([, , weak]) => weak),
      );
    };
    const ask = (text: string) => readPrompt([{ role: 'user', content: text }]);
    const prior = (text: string) => ask(text).prior.score;

    test.each([...rows.keys()])('is not below 0.47 on %s', (name) => {
      expect(apgr(name, prior)).toBeGreaterThan(0.47);
    });

    test('beats prompt length where lengths matter, and on average', () => {
      const names = [...rows.keys()];
      const mean = (score: (prompt: string) => number) =>
        names.reduce((sum, name) => sum + apgr(name, score), 0) / names.length;
      expect(mean(prior)).toBeGreaterThan(mean((text) => text.length) + 0.01);
      expect(apgr('mmlu/primary', prior)).toBeGreaterThan(0.62);
      expect(apgr('gsm8k/primary', prior)).toBeGreaterThan(0.635);
      expect(apgr('mt-bench/primary', prior)).toBeGreaterThan(0.75);
    });

    /** Labels of every second case, to be tried on the others. */
    const learnt = (name: string, count: number) => {
      const row = rows.get(name) ?? [];
      const learner = newLearner();
      const labels = row.filter((_, i) => i % 2 === 0).slice(0, count);
      learnAll(
        learner,
        labels.map(([one, strong, weak]) => ({ prompt: ask(one.prompt), outcome: { strong, weak } })),
        seededRandom(7),
      );
      const rest = row.filter((_, i) => i % 2 === 1);
      return tool.fineApgr(
        rest.map(([one]) => scorePrompt(ask(one.prompt), learner).score),
        rest.map(([, strong]) => strong),
        rest.map(([, , weak]) => weak),
      );
    };

    test('learns from 500 labels, and more from more', () => {
      expect(learnt('mmlu/primary', 500)).toBeGreaterThan(0.64);
      expect(learnt('mmlu/primary', Infinity)).toBeGreaterThan(0.67);
      expect(learnt('llmrouter-mix/primary', Infinity)).toBeGreaterThan(0.77);
      expect(learnt('mmlu-pro/primary', Infinity)).toBeGreaterThan(0.78);
    });
  },
);
