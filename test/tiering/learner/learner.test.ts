import { describe, expect, test } from 'vitest';
import { parseTiers } from '../../../src/config/tiers.ts';
import { deserialiseLearner, LEARNER_BYTES, serialiseLearner } from '../../../src/tiering/learner/codec.ts';
import { type Label, learn, learnAll, learntScore } from '../../../src/tiering/learner/learner.ts';
import { newLearner, setModels } from '../../../src/tiering/learner/learner-state.ts';
import { isProven } from '../../../src/tiering/learner/proof.ts';
import { modelsFingerprint } from '../../../src/tiering/learner/tier-models.ts';
import { readPrompt } from '../../../src/tiering/prompt.ts';
import { scorePrompt } from '../../../src/tiering/score.ts';
import { seededRandom } from '../../routing/seeded-random.ts';

const ask = (text: string) => readPrompt([{ role: 'user', content: text }]);
const HARD = ['glacier', 'turbine', 'lattice', 'sextant'];
const EASY = ['teacup', 'ribbon', 'button', 'pillow'];

/** Prompts alike but for one word, which decides whether the weak tier can answer. */
function labels(count: number, seed: number, weakRight = (hard: boolean) => (hard ? 0 : 1)): Label[] {
  const random = seededRandom(seed);
  const pick = (words: string[]) => words[Math.floor(random() * words.length)] ?? '';
  return Array.from({ length: count }, () => {
    const hard = random() < 0.5;
    const prompt = ask(
      `Tell me about the ${pick(hard ? HARD : EASY)} that ${random().toFixed(3)} people saw.`,
    );
    return { prompt, outcome: { weak: weakRight(hard), strong: 1 } };
  });
}

describe('the learner', () => {
  test('takes over once it has proved itself, and then ranks by what it learnt', () => {
    const learner = newLearner();
    learnAll(learner, labels(400, 1), seededRandom(2));
    const hard = scorePrompt(ask('Tell me about the turbine that 0.123 people saw.'), learner);
    const easy = scorePrompt(ask('Tell me about the pillow that 0.456 people saw.'), learner);
    expect([hard.basis, easy.basis]).toEqual(['learnt', 'learnt']);
    expect(hard.score).toBeGreaterThan(easy.score);
    expect(hard.gain).toBeGreaterThan(0.5);
    expect(easy.gain).toBeLessThan(0.3);
  });

  test('learns a handful of labels that come after many', () => {
    const learner = newLearner();
    learnAll(learner, labels(400, 21), seededRandom(22));
    const prompt = ask('Tell me about the zeppelin that 0.123 people saw.');
    const before = learntScore(learner, prompt).gain;
    const handful = Array.from({ length: 5 }, () => ({ prompt, outcome: { weak: 0, strong: 1 } }));
    learnAll(learner, handful, seededRandom(23));
    expect(isProven(learner)).toBe(true);
    expect(learntScore(learner, prompt).gain).toBeGreaterThan(before);
  });

  test('learns label by label too', () => {
    const learner = newLearner();
    for (const label of labels(600, 3)) learn(learner, label);
    expect(isProven(learner)).toBe(true);
  });

  test('ranks what is unlike all that it learnt as the prior does', () => {
    const learner = newLearner();
    learnAll(learner, labels(400, 1), seededRandom(2));
    const unlike = ['Zieh ein Fazit.', 'Warum friert Wasser, wenn niemand es kühlt, und nie ohne Frost?'].map(
      ask,
    );
    const learnt = unlike.map((prompt) => scorePrompt(prompt, learner));
    expect(learnt.map(({ basis }) => basis)).toEqual(['learnt', 'learnt']);
    const [low, high] = unlike.map(({ prior }) => prior.score);
    expect((learnt[1]?.score ?? 0) > (learnt[0]?.score ?? 0)).toBe((high ?? 0) > (low ?? 0));
  });

  test('leaves the prior in charge while it has few labels', () => {
    const learner = newLearner();
    learnAll(learner, labels(100, 4), seededRandom(5));
    const prompt = ask('Tell me about the turbine.');
    expect(scorePrompt(prompt, learner)).toEqual(scorePrompt(prompt));
  });

  test('leaves the prior in charge when there is nothing to learn', () => {
    for (let seed = 0; seed < 10; seed++) {
      const coin = seededRandom(100 + seed);
      const learner = newLearner();
      learnAll(
        learner,
        labels(400, seed, () => (coin() < 0.5 ? 1 : 0)),
        seededRandom(seed),
      );
      expect(isProven(learner), `seed ${seed}`).toBe(false);
    }
  });

  test('is not trusted on outcomes of one tier alone, however many', () => {
    const learner = newLearner();
    for (const { prompt, outcome } of labels(1_000, 6))
      learn(learner, { prompt, outcome: { weak: outcome.weak ?? 0 } });
    expect(isProven(learner)).toBe(false);
  });

  test('gives way to the prior again when its predictions stop being right', () => {
    const learner = newLearner();
    learnAll(learner, labels(400, 7), seededRandom(8));
    expect(isProven(learner)).toBe(true);
    const coin = seededRandom(9);
    for (const label of labels(400, 10, () => (coin() < 0.5 ? 1 : 0))) learn(learner, label);
    const turned = labels(1_500, 11, (hard) => (hard ? 1 : 0));
    let yielded = false;
    for (const label of turned.slice(0, 300)) {
      learn(learner, label);
      yielded ||= !isProven(learner);
    }
    expect(yielded).toBe(true);
  });

  test('scores stay in [0,1] and on the scale of the prior', () => {
    const learner = newLearner();
    const all = labels(400, 12);
    learnAll(learner, all, seededRandom(13));
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const learnt = all.map(({ prompt }) => learntScore(learner, prompt).score);
    expect(learnt.every((score) => score >= 0 && score <= 1)).toBe(true);
    expect(mean(learnt)).toBeCloseTo(mean(all.map(({ prompt }) => prompt.prior.score)), 1);
  });
});

describe('a learner of other models', () => {
  const learnt = () => {
    const learner = newLearner();
    setModels(learner, 7);
    learnAll(learner, labels(400, 18), seededRandom(19));
    return learner;
  };

  test('has to prove itself anew, and does so', () => {
    const learner = learnt();
    setModels(learner, 8);
    expect(isProven(learner)).toBe(false);
    learnAll(learner, labels(400, 20), seededRandom(21));
    expect(isProven(learner)).toBe(true);
  });

  test('is the same one where the models are the same, or not known', () => {
    for (const models of [7, 0]) {
      const learner = learnt();
      setModels(learner, models);
      expect(isProven(learner)).toBe(true);
    }
    const untold = newLearner();
    learnAll(untold, labels(400, 18), seededRandom(19));
    setModels(untold, 7);
    expect(isProven(untold)).toBe(true);
  });

  test('knows its models by what the tiers hold, not by what they are called', () => {
    const models = modelsFingerprint({ big: parseTiers('strong: a/x, b/x; fast: a/y; share=30%', 'big') });
    expect(modelsFingerprint({ other: parseTiers('strong: b/x, a/x; cheap: a/y', 'other') })).toBe(models);
    expect(modelsFingerprint({ big: parseTiers('strong: a/x2, b/x; fast: a/y', 'big') })).not.toBe(models);
    expect(modelsFingerprint({})).toBe(0);
    expect(Math.fround(models)).toBe(models);
  });
});

describe('a serialised learner', () => {
  test('is under 1 MB and scores as before', () => {
    const learner = newLearner();
    const all = labels(400, 14);
    setModels(learner, 9);
    learnAll(learner, all, seededRandom(15));
    const bytes = serialiseLearner(learner);
    const restored = deserialiseLearner(bytes);
    expect(bytes.length).toBe(LEARNER_BYTES);
    expect(bytes.length).toBeLessThan(1_000_000);
    if (!restored) throw new Error('not restored');
    expect(isProven(restored)).toBe(true);
    expect(restored.models).toBe(9);
    for (const { prompt } of all.slice(0, 50)) {
      expect(learntScore(restored, prompt).score).toBeCloseTo(learntScore(learner, prompt).score, 2);
    }
  });

  test('goes on learning where it left off', () => {
    const learner = deserialiseLearner(serialiseLearner(newLearner()));
    if (!learner) throw new Error('not restored');
    learnAll(learner, labels(400, 16), seededRandom(17));
    expect(isProven(learner)).toBe(true);
  });

  test('of another version, length or with broken numbers is not read', () => {
    const bytes = serialiseLearner(newLearner());
    const foreign = Buffer.from(bytes);
    foreign.writeUInt32LE(1, 0);
    const broken = Buffer.from(bytes);
    broken.writeFloatLE(Number.NaN, 4);
    const learner = newLearner();
    learner.gains.variance = -1;
    expect(deserialiseLearner(foreign)).toBeUndefined();
    expect(deserialiseLearner(broken)).toBeUndefined();
    expect(deserialiseLearner(serialiseLearner(learner))).toBeUndefined();
    expect(deserialiseLearner(bytes.subarray(1))).toBeUndefined();
    expect(deserialiseLearner(Buffer.alloc(0))).toBeUndefined();
  });
});
