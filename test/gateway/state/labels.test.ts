import { describe, expect, test } from 'vitest';
import { createLabels, type LabelledRequest } from '../../../src/gateway/state/labels.ts';
import type { Label } from '../../../src/tiering/learner/learner.ts';
import { readPrompt } from '../../../src/tiering/prompt.ts';

let next = 1;
function labelled(more: Partial<LabelledRequest> & { text?: string } = {}): LabelledRequest {
  const { text = 'Why?', ...rest } = more;
  const id = next++ as unknown as LabelledRequest['id'];
  const prompt = readPrompt([{ role: 'user', content: text }]);
  return { id, project: 'p', tier: 'weak', prompt, conversation: 'c', turns: 1, quality: undefined, ...rest };
}

function start() {
  const taught: Label['outcome'][] = [];
  const labels = createLabels({ teach: (_project, { outcome }) => void taught.push(outcome) });
  return { taught, labels };
}

describe('createLabels()', () => {
  test('labels an answer bad, once, when the same question is asked again', () => {
    const { taught, labels } = start();
    for (let i = 0; i < 3; i++) labels.answered(labelled({ tier: i === 1 ? 'strong' : 'weak' }));
    expect(taught).toEqual([{ weak: 0 }, { strong: 0 }]);
  });

  test('labels an answer good when its conversation continues, and not when another one does', () => {
    const { taught, labels } = start();
    labels.answered(labelled());
    labels.answered(labelled({ conversation: 'other' }));
    expect(taught).toEqual([]);
    labels.answered(labelled({ turns: 3, text: 'And then?' }));
    expect(taught).toEqual([{ weak: 0.8 }]);
  });

  test('prefers the quality that the answer shows to what the next turn implies', () => {
    const { taught, labels } = start();
    labels.answered(labelled({ quality: 1 }));
    labels.answered(labelled({ turns: 3 }));
    expect(taught).toEqual([{ weak: 1 }]);
  });

  test('takes feedback once, and only for a request that is still stored', () => {
    const { taught, labels } = start();
    const answered = labelled({ tier: 'strong' });
    labels.answered(answered);
    expect([labels.feedback(answered.id, 0.3), labels.feedback(answered.id, 1)]).toEqual([
      'learnt',
      'said_before',
    ]);
    expect(taught).toEqual([{ strong: 0.3 }]);
    expect(labels.feedback(labelled().id, 1)).toBe('not_remembered');
  });

  test('stores a bounded number of requests and characters', () => {
    const { labels } = start();
    const first = labelled({ conversation: 'first' });
    labels.answered(first);
    const long = Array.from({ length: 600 }, (_, i) =>
      labelled({ conversation: `l${i}`, text: 'x '.repeat(9_000) }),
    );
    for (const each of long) labels.answered(each);
    expect(labels.feedback(first.id, 1)).toBe('not_remembered');
    const kept = long.filter(({ id }) => labels.feedback(id, 1) === 'learnt').length;
    expect(kept).toBeGreaterThan(400);
    expect(kept).toBeLessThan(510);
    const short = Array.from({ length: 6_000 }, (_, i) => labelled({ conversation: `s${i}` }));
    for (const each of short) labels.answered(each);
    expect(short.filter(({ id }) => labels.feedback(id, 1) === 'learnt')).toHaveLength(5_000);
  });
});
