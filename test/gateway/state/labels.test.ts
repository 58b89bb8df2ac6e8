import { describe, expect, test } from 'vitest';
import { createLessons, type Lesson } from '../../../src/gateway/state/labels.ts';
import type { Label } from '../../../src/tiering/learner/learner.ts';
import { readPrompt } from '../../../src/tiering/prompt.ts';

let next = 1;
function lesson(more: Partial<Lesson> & { text?: string } = {}): Lesson {
  const { text = 'Why?', ...rest } = more;
  const id = next++ as unknown as Lesson['id'];
  const prompt = readPrompt([{ role: 'user', content: text }]);
  return { id, project: 'p', tier: 'weak', prompt, conversation: 'c', turns: 1, quality: undefined, ...rest };
}

function start() {
  const taught: Label['outcome'][] = [];
  const lessons = createLessons({ teach: (_project, { outcome }) => void taught.push(outcome) });
  return { taught, lessons };
}

describe('lessons', () => {
  test('the same question again tells against the answer before it, once', () => {
    const { taught, lessons } = start();
    for (let i = 0; i < 3; i++) lessons.answered(lesson({ tier: i === 1 ? 'strong' : 'weak' }));
    expect(taught).toEqual([{ weak: 0 }, { strong: 0 }]);
  });

  test('a conversation that goes on tells for it; another conversation tells nothing', () => {
    const { taught, lessons } = start();
    lessons.answered(lesson());
    lessons.answered(lesson({ conversation: 'other' }));
    expect(taught).toEqual([]);
    lessons.answered(lesson({ turns: 3, text: 'And then?' }));
    expect(taught).toEqual([{ weak: 0.8 }]);
  });

  test('what shows from outside goes before what comes later', () => {
    const { taught, lessons } = start();
    lessons.answered(lesson({ quality: 1 }));
    lessons.answered(lesson({ turns: 3 }));
    expect(taught).toEqual([{ weak: 1 }]);
  });

  test('what is said counts once, and for what is remembered alone', () => {
    const { taught, lessons } = start();
    const answered = lesson({ tier: 'strong' });
    lessons.answered(answered);
    expect([lessons.told(answered.id, 0.3), lessons.told(answered.id, 1)]).toEqual(['learnt', 'said_before']);
    expect(taught).toEqual([{ strong: 0.3 }]);
    expect(lessons.told(lesson().id, 1)).toBe('not_remembered');
  });

  test('remembers a bounded number, and bounded texts', () => {
    const { lessons } = start();
    const first = lesson({ conversation: 'first' });
    lessons.answered(first);
    const long = Array.from({ length: 600 }, (_, i) =>
      lesson({ conversation: `l${i}`, text: 'x '.repeat(9_000) }),
    );
    for (const each of long) lessons.answered(each);
    expect(lessons.told(first.id, 1)).toBe('not_remembered');
    const kept = long.filter(({ id }) => lessons.told(id, 1) === 'learnt').length;
    expect(kept).toBeGreaterThan(400);
    expect(kept).toBeLessThan(510);
    const short = Array.from({ length: 6_000 }, (_, i) => lesson({ conversation: `s${i}` }));
    for (const each of short) lessons.answered(each);
    expect(short.filter(({ id }) => lessons.told(id, 1) === 'learnt')).toHaveLength(5_000);
  });
});
