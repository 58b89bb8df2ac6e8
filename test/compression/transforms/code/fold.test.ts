import { describe, expect, it } from 'vitest';
import { readQuestion } from '../../../../src/compression/prompt/question.ts';
import { foldCode } from '../../../../src/compression/transforms/code/fold.ts';

const functions = Array.from({ length: 12 }, (_, i) => [
  '/**',
  ` * Step ${i} of the work.`,
  ' * It has to be done in order.',
  ' */',
  `export function step${i}(input) {`,
  `  const a = prepare(input, ${i});`,
  `  const b = a.map((x) => x + ${i});`,
  '  if (b.length === 0) {',
  '    return undefined;',
  '  } else {',
  i === 5 ? '    return step6(b);' : `    return finish(b, ${i});`,
  '  }',
  '}',
  '',
]);
const source = functions.flat().join('\n');
const file = { path: 'src/steps.ts' };
const fold = (question: string, text = source, from: object = file) =>
  foldCode(text, from, readQuestion(question));

describe('foldCode()', () => {
  it('keeps the function in question with its comment, and what it calls, byte for byte', () => {
    const out = fold('Why does `step5` return undefined?');
    expect(out).toContain(functions[5]?.join('\n'));
    expect(out).toContain(functions[6]?.slice(4).join('\n'));
    expect(out).toContain('export function step7(input) {\n  … 7 lines\n}');
    expect(out).not.toContain('finish(b, 7)');
  });

  it('folds numbered lines and leaves the numbers of the others', () => {
    const numbered = source.split('\n').map((line, i) => `${String(i + 1).padStart(6)}\t${line}`);
    const out = fold('Why does `step5` return undefined?', numbered.join('\n')).split('\n');
    expect(out).toContain(numbered[5 * 14 + 6]);
    expect(out).toContain(numbered[7 * 14 + 4]);
  });

  it.each([
    ['a question that names nothing in code', 'Is this good?', file],
    ['a question about the whole file', 'Review the whole file for `step5`.', file],
    ['an unknown language', 'Why does `step5` fail?', { path: 'steps.xyz' }],
    [
      'a file that a tool read and that is about to be edited',
      'Fix `step5` please.',
      { ...file, mayBeEdited: true },
    ],
  ])('leaves the file whole for %s', (_, question, from) => {
    expect(fold(question, source, from)).toBe(source);
  });

  it('leaves short files whole', () => {
    const short = functions.slice(4, 7).flat().join('\n');
    expect(fold('What about `step5`?', short)).toBe(short);
  });
});
