import { describe, expect, test } from 'vitest';
import { outcomeOf } from '../../../src/store/optimizer/outcome.ts';
import { type ModelTrial, NO_TRIAL, type Side } from '../../../src/store/optimizer/trials.ts';
import { seededRandom } from '../../routing/seeded-random.ts';

/** Conversations of very unlike lengths, as they are, at a price per token that scatters by half. */
function sideOf(conversations: number, nanoPerToken: number, random: () => number): Side {
  const side = { ...NO_TRIAL, conversations, requests: conversations };
  for (let i = 0; i < conversations; i++) {
    const tokens = Math.round(1_000 * Math.exp(3 * random()));
    const cost = tokens * nanoPerToken * (0.5 + random());
    side.originalTokens += tokens;
    side.costNanoUsd += cost;
    side.tokensSquared += tokens * tokens;
    side.costSquared += cost * cost;
    side.costTimesTokens += cost * tokens;
  }
  return side;
}

function trialOf(treatedRate: number, heldOutRate: number, seed: number, heldOut = 60): ModelTrial {
  const random = seededRandom(seed);
  return {
    model: 'openai/gpt-5-mini',
    treated: sideOf(2_000, treatedRate, random),
    heldOut: sideOf(heldOut, heldOutRate, random),
  };
}

describe('outcomeOf()', () => {
  test('tells what was saved, and lost, with room for chance', () => {
    const saves = outcomeOf([trialOf(700, 1_000, 1)]);
    expect(saves).toMatchObject({ verdict: 'saves', isCertain: false });
    const tokens = saves.models[0]?.treated.originalTokens ?? 0;
    expect(Math.abs(saves.savedNanoUsd - 300 * tokens)).toBeLessThan(1.5 * saves.marginNanoUsd);
    expect(outcomeOf([trialOf(1_500, 1_000, 2)])).toMatchObject({ verdict: 'costs', isCertain: true });
    expect(outcomeOf([trialOf(1_000, 1_000, 3)])).toMatchObject({ verdict: 'unclear', isCertain: false });
  });

  test('says that there are too few, however clear they look', () => {
    expect(outcomeOf([])).toMatchObject({ verdict: 'too_few', savedNanoUsd: 0, marginNanoUsd: 0 });
    expect(outcomeOf([trialOf(5_000, 1_000, 4, 29)])).toMatchObject({ verdict: 'too_few', isCertain: false });
    expect(outcomeOf([trialOf(5_000, 1_000, 4, 30)])).toMatchObject({ verdict: 'costs', isCertain: true });
  });

  test('compares a model with itself: that dear ones were held out more often says nothing', () => {
    const dear = { ...trialOf(10_000, 10_000, 5, 60), model: 'dear' };
    const cheap = trialOf(100, 100, 6, 10);
    const { verdict, savedNanoUsd, marginNanoUsd } = outcomeOf([dear, cheap]);
    expect(verdict).toBe('unclear');
    expect(Math.abs(savedNanoUsd)).toBeLessThan(1.5 * marginNanoUsd);
  });

  test('leaves out a model that one side has hardly seen', () => {
    const rare = { ...trialOf(9_000, 1, 7, 4), model: 'rare' };
    const outcome = outcomeOf([trialOf(700, 1_000, 8), rare]);
    expect(outcome.models.map(({ isCompared }) => isCompared)).toEqual([true, false]);
    expect(outcome).toMatchObject({ verdict: 'saves', heldOutConversations: 60 });
  });

  test('is wrong about nothing at all no more often than it says, and hardly ever certain', () => {
    const outcomes = Array.from({ length: 400 }, (_, i) => outcomeOf([trialOf(1_000, 1_000, 100 + i)]));
    const wrong = outcomes.filter(({ verdict }) => verdict !== 'unclear').length;
    expect(wrong).toBeLessThan(400 * 0.1);
    expect(outcomes.filter(({ isCertain }) => isCertain).length).toBe(0);
  });
});
