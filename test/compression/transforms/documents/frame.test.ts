import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress } from '../../../../src/compression/conversation/compress.ts';
import { frameDocuments, unframeDocuments } from '../../../../src/compression/transforms/documents/frame.ts';

const inTags = (texts: readonly string[]) =>
  texts
    .map(
      (text, i) =>
        `<document index="${i + 1}">\n<source>Title ${i * 7}</source>\n<document_content>\n${text}\n</document_content>\n</document>\n`,
    )
    .join('');
const texts = Array.from({ length: 6 }, (_, i) => `What is known about subject ${i}.\nAnd more of it.`);

describe('frameDocuments()', () => {
  it('says the tags once and keeps values and texts', () => {
    const framed = frameDocuments(`Read:\n${inTags(texts)}\nWhat follows?`);
    expect(framed?.head).toBe('Read:\n');
    expect(framed?.tail).toBe('\n\nWhat follows?');
    expect(framed?.framed.split('\n').slice(0, 4)).toEqual([
      '[gw documents: "§ a | b" stands for <document index="a">\\n<source>b</source>\\n<document_content>\\n up to \\n</document_content>\\n</document>\\n]',
      '§ 1 | Title 0',
      'What is known about subject 0.',
      'And more of it.',
    ]);
  });

  it('is undone by unframeDocuments()', () => {
    const line = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.constantFrom('', '§ 1', '</x>', ' | ', '<doc id="3">', '\\n', '<source>'),
    );
    const document = fc.array(line, { maxLength: 4 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(fc.array(document, { minLength: 4, maxLength: 8 }), (generated) => {
        const framed = frameDocuments(inTags(generated));
        if (framed) expect(unframeDocuments(framed.framed)).toBe(`${framed.documents}\n`);
      }),
      { numRuns: process.env.GW_LONG ? 5_000 : 1_000 },
    );
  });

  it('leaves documents whose tags differ, and few of them', () => {
    expect(frameDocuments(inTags(texts).replace('<source>Title 7', '<origin>Title 7'))).toBeUndefined();
    expect(frameDocuments(inTags(texts.slice(0, 3)))).toBeUndefined();
  });
});

it('the same documents again are a reference, the question after them stays', () => {
  const long = texts.map((text) => text.repeat(12));
  const ask = (question: string) => ({ role: 'user', content: `${inTags(long)}\n${question}` });
  const messages = [ask('Who?'), { role: 'assistant', content: 'Nobody.' }, ask('And when?')];
  const out = compress(messages, { level: 'safe' }).messages;
  expect(out[0]?.content).toMatch(/^\[gw documents: .*\nWho\?$/s);
  expect(out[2]?.content).toBe('[gw: the same as the block above]\n\nAnd when?');
});
