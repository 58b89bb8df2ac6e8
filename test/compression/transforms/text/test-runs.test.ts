import { describe, expect, it } from 'vitest';
import { compress, type Message } from '../../../../src/compression/conversation/compress.ts';

const failure = (i: number) =>
  [
    `______________________ test_sort[input${i}-expected${i}] ______________________`,
    '',
    `input = [${i}, 2, 9], expected = ${i}`,
    '',
    '    @pytest.mark.parametrize("input,expected", testdata)',
    '    def test_sort(input, expected):',
    '>       assert sort(*input) == expected',
    `E       AssertionError: assert ${i * 7} == ${i}`,
    '',
    'tests/test_sort.py:15: AssertionError',
  ].join('\n');
const run = [
  '============================= test session starts ==============================',
  'collected 40 items',
  '',
  ...Array.from(
    { length: 40 },
    (_, i) =>
      `tests/test_sort.py::test_sort[input${i}-expected${i}] ${i < 9 ? 'FAILED' : 'PASSED'}   [ ${i * 2}%]`,
  ),
  '=================================== FAILURES ===================================',
  ...Array.from({ length: 9 }, (_, i) => failure(i)),
  '========================= 9 failed, 31 passed in 2.27s ==========================',
].join('\n');

function answer(question: string, level: 'safe' | 'balanced'): string {
  const messages: Message[] = [
    { role: 'user', content: question },
    { role: 'tool', tool_call_id: 'a', content: run },
  ];
  return String(compress(messages, { level }).messages[1]?.content);
}

describe('a test run', () => {
  it.each(['safe', 'balanced'] as const)('keeps every failure with its own values at level %s', (level) => {
    const out = answer('Which tests fail, and why?', level);
    for (let i = 0; i < 9; i++) {
      expect(out).toContain(`E       AssertionError: assert ${i * 7} == ${i}`);
      expect(out).toContain(`test_sort[input${i}-expected${i}] FAILED`);
    }
    expect(out.length).toBeLessThan(run.length * 0.85);
  });

  it('loses its passed tests at level balanced', () => {
    const out = answer('Which tests fail, and why?', 'balanced');
    expect(out).not.toContain('input20-');
    expect(out).toContain('… 31');
  });

  it('does not give the verdicts that its summary repeats', () => {
    const summary = Array.from(
      { length: 9 },
      (_, i) => `FAILED tests/test_sort.py::test_sort[input${i}-expected${i}]`,
    );
    const out = String(
      compress(
        [
          { role: 'user', content: 'Which tests fail, and why?' },
          { role: 'tool', tool_call_id: 'a', content: `${run}\n${summary.join('\n')}` },
        ],
        { level: 'balanced' },
      ).messages[1]?.content,
    );
    expect(out).toContain('… 40\n');
    for (const line of summary) expect(out).toContain(line);
  });

  it('keeps its passed tests for a question about them', () => {
    expect(answer('How many tests pass?', 'balanced')).not.toContain('left out');
    expect(answer('Why does test_sort[input20-expected20] hang?', 'balanced')).toContain(
      'input20-expected20] PASSED',
    );
  });
});
