import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createLearners, type Learners } from '../../../src/gateway/state/learners.ts';
import { deserialiseLearner, serialiseLearner } from '../../../src/tiering/learner/codec.ts';
import { learn } from '../../../src/tiering/learner/learner.ts';
import { learnerPath, writeLearner } from '../../../src/tiering/learner/learner-file.ts';
import { type LearnerState, newLearner, setModels } from '../../../src/tiering/learner/learner-state.ts';
import { readPrompt } from '../../../src/tiering/prompt.ts';
import { until } from '../../support/gateway.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const label = { prompt: readPrompt([{ role: 'user', content: 'Why?' }]), outcome: { weak: 0 } };
const seen = (state: LearnerState | undefined) => state?.priors.count ?? 0;

function start() {
  const home = tmpHome();
  const clock = createVirtualClock();
  const warnings: string[] = [];
  let models = 1;
  const open = () =>
    createLearners({ home, clock, models: () => models, warn: (message) => void warnings.push(message) });
  const changeModels = () => void models++;
  const file = learnerPath(home, 'p');
  const stored = () => seen(deserialiseLearner(readFileSync(file)));
  /** A call rereads the file in the background, so its content shows a little later. */
  const shows = (learners: Learners, count: number) =>
    until(async () => {
      await clock.advance(2_000);
      return seen(learners.of('p')) === count;
    });
  return { clock, warnings, open, file, stored, shows, changeModels };
}

describe('learners', () => {
  test('keep what they learn, and the next daemon reads it', async () => {
    const { open, stored, shows } = start();
    const learners = open();
    for (let i = 0; i < 3; i++) learners.teach('p', label);
    expect(seen(learners.of('p'))).toBe(3);
    await learners.close();
    expect(stored()).toBe(3);
    await shows(open(), 3);
  });

  test('continue from the file, and give way to a newer one', async () => {
    const { open, file, stored, shows } = start();
    const state = newLearner();
    for (let i = 0; i < 5; i++) learn(state, label);
    writeLearner(file, state);
    const learners = open();
    await shows(learners, 5);
    learners.teach('p', label);
    await learners.close();
    expect(stored()).toBe(6);
    learners.teach('p', label);
    rmSync(file);
    writeLearner(file, newLearner());
    await learners.close();
    expect([stored(), seen(learners.of('p'))]).toEqual([0, 0]);
  });

  test('warn of a file from another version, and replace it with what they learn', async () => {
    const { open, clock, file, stored, warnings } = start();
    const other = serialiseLearner(newLearner());
    other.writeUInt32LE(0x67770001, 0);
    writeFileSync(file, other);
    const learners = open();
    await until(async () => {
      learners.of('p');
      await clock.advance(2_000);
      return warnings.length > 0;
    });
    expect(warnings).toEqual([expect.stringContaining('from another version of gw')]);
    learners.teach('p', label);
    await learners.close();
    expect(stored()).toBe(1);
  });

  test('have to prove themselves again after the tiers’ models change, but keep what they learnt', async () => {
    const { open, file, shows, changeModels } = start();
    const state = newLearner();
    setModels(state, 1);
    for (let i = 0; i < 40; i++) learn(state, { ...label, outcome: { weak: 0, strong: 1 } });
    writeLearner(file, state);
    const learners = open();
    await shows(learners, 40);
    expect(learners.of('p')?.outcomeProof.count).toBe(10);
    changeModels();
    await learners.close();
    expect(learners.of('p')).toMatchObject({ outcomeProof: { count: 0 }, priors: { count: 40 }, models: 2 });
  });

  test('forget everything when the file is deleted', async () => {
    const { open, file, shows, warnings } = start();
    writeLearner(file, newLearner());
    const learners = open();
    learners.of('p');
    await learners.close();
    learners.teach('p', label);
    rmSync(file);
    await shows(learners, 0);
    expect(warnings).toEqual([]);
  });
});
