import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress, type Level, type Message } from '../../../src/compression/conversation/compress.ts';

const rows = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: i, name: `name ${i}`, state: 'open', size: i * 17 }));
const json = (count = 60) => JSON.stringify(rows(count), null, 2);
const log = (count = 80) =>
  Array.from(
    { length: count },
    (_, i) => `2024-05-01 10:00:${String(i % 60).padStart(2, '0')} INFO worker ${i % 4} did job ${i * 31}`,
  ).join('\n');
const file = (count = 60) =>
  Array.from({ length: count }, (_, i) => `export const value${i} = compute(${i});`).join('\n');
const call = (id: string, name: string, args: object): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
});
const result = (id: string, content: string): Message => ({ role: 'tool', tool_call_id: id, content });

const conversation: Message[] = [
  { role: 'system', content: `You are careful.\n${json(10)}` },
  { role: 'user', content: 'What is the size of name 7?' },
  call('a', 'query', { table: 'x' }),
  result('a', json()),
  call('b', 'read_file', { path: 'src/a.ts' }),
  result('b', file()),
  call('c', 'read_file', { path: 'src/a.ts' }),
  result('c', file().replace('compute(30)', 'compute(31)')),
  { role: 'user', content: `Why did it fail?\n\n${log()}` },
  call('d', 'query', { table: 'x' }),
  result('d', json().replace('"open"', '"shut"')),
];

const levels: Level[] = ['safe', 'balanced'];

describe.each(levels)('compress() at level %s', (level) => {
  it('shrinks what a tool returns and what a user pastes, and leaves the rest as the same objects', () => {
    const { messages, report } = compress(conversation, { level });
    const changed = messages.flatMap((message, i) => (message === conversation[i] ? [] : [i]));
    expect(changed).toEqual([3, 7, 8, 10]);
    expect(report.map((r) => r.transforms.length > 0)).toEqual(messages.map((m, i) => m !== conversation[i]));
    for (const i of changed)
      expect(report[i]?.tokensAfter).toBeLessThan((report[i]?.tokensBefore ?? 0) * 0.95);
  });

  it('gives a prefix of the conversation the same bytes as the whole', () => {
    const whole = compress(conversation, { level }).messages;
    for (let end = 0; end <= conversation.length; end++) {
      expect(compress(conversation.slice(0, end), { level }).messages).toEqual(whole.slice(0, end));
    }
  });

  it('changes nothing the second time', () => {
    const { messages } = compress(conversation, { level });
    expect(compress(messages, { level }).messages).toEqual(messages);
  });

  it('keeps unknown fields, parts that are not text, and the words around a paste', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const message = {
      role: 'user',
      name: 'ann',
      x_extra: [1],
      content: [{ type: 'text', text: `See this:\n${log()}`, cache: 1 }, image],
    };
    const [out] = compress([message], { level }).messages as [typeof message];
    expect(out).not.toBe(message);
    expect(out).toMatchObject({ role: 'user', name: 'ann', x_extra: [1] });
    expect(out.content[1]).toBe(image);
    expect(out.content[0]).toMatchObject({ type: 'text', cache: 1 });
    expect((out.content[0] as { text: string }).text).toMatch(/^See this:\n/);
  });

  it('does not touch what stands between keep marks', () => {
    const kept = `<!-- gw:keep -->\n${json()}\n<!-- gw:keep -->`;
    const content = `${json(50)}\n${kept}\n${json(40)}`;
    const [out] = compress([result('z', content)], { level }).messages;
    expect(out?.content).not.toBe(content);
    expect(out?.content).toContain(kept);
  });

  it('does not touch fenced code', () => {
    const code = `\`\`\`ts\n${file(200)}\n\`\`\``;
    const message = { role: 'user', content: `Explain this.\n\n${code}\n\n${log()}` };
    const [out] = compress([message], { level }).messages;
    expect(out?.content).not.toBe(message.content);
    expect(out?.content).toContain(code);
  });

  it('folds a whole file that is fenced under its name at level balanced only, and leaves the rest byte for byte', () => {
    const body = (i: number) => Array.from({ length: 9 }, (_, k) => `  step${i}(${k});`).join('\n');
    const functions = Array.from({ length: 20 }, (_, i) => `function part${i}() {\n${body(i)}\n}`);
    const content = `Why does \`part7()\` fail?\n\n### src/parts.ts\n\`\`\`ts\n${functions.join('\n')}\n\`\`\`\n`;
    const message = { role: 'user', content };
    const [out] = compress([message], { level }).messages;
    expect(out?.content).toContain(functions[7]);
    if (level === 'safe') expect(out).toBe(message);
    else expect(out?.content).not.toContain(functions[12]);
  });

  it('does not touch code that a tool printed, however alike its lines are', () => {
    const code = result('z', `#!/bin/x\n${file(200)}`);
    expect(compress([code], { level }).messages[0]).toBe(code);
  });

  it("leaves a user's own lists, however regular", () => {
    const list = (line: (i: number) => string) => Array.from({ length: 60 }, (_, i) => line(i)).join('\n');
    for (const own of [
      list((i) => `[${i}] How do you like service ${i}? Say why, at length.`),
      list((i) => `  - Rule ${i}: never do thing_${i} when x=${i} (section ${i}.1)`),
      list((i) => `Mon ${10 + (i % 9)}:00 meeting with person ${i} about project ${i * 3}`),
      list((i) => `| item ${i} | ${i * 3} |`),
    ]) {
      const message = { role: 'user', content: `Here:\n${own}\nWhat follows?` };
      expect(compress([message], { level }).messages[0]).toBe(message);
    }
  });

  it('leaves the question after a paste, whatever signs it has', () => {
    const question = 'Key: "name 7" (#W-7731)\nIts value, as {"id": 7}:';
    for (const paste of [`Data:\n${json()}`, `It stops:\n${log()}`]) {
      const [out] = compress([{ role: 'user', content: `${paste}\n\n${question}` }], { level }).messages;
      expect(String(out?.content).length).toBeLessThan(paste.length * 0.8);
      expect(out?.content).toMatch(/\n\nKey: "name 7" \(#W-7731\)\nIts value, as \{"id": 7\}:$/);
    }
  });

  it("leaves a user's numbered advice", () => {
    const advice = Array.from(
      { length: 12 },
      (_, i) =>
        `${i + 1}. If you open file_${i}.py and need line ${i * 31}, use \`goto ${i * 31}\` [see ${i}].`,
    ).join('\n');
    const message = {
      role: 'user',
      content: `Read this.\n\n${advice}\n\nThen fix it.${' Please.'.repeat(300)}`,
    };
    expect(compress([message], { level }).messages[0]).toBe(message);
  });

  it('leaves configuration that a user pastes', () => {
    const yaml = Array.from({ length: 80 }, (_, i) => `  - name: svc-${i}\n    port: ${8000 + i}`).join('\n');
    for (const words of [
      'Set the port of svc-5 to 9000 and return the complete file:',
      'Which port has svc-5 (of 80)?',
    ]) {
      const message = { role: 'user', content: `${words}\n\nservices:\n${yaml}` };
      expect(compress([message], { level }).messages[0]).toBe(message);
    }
  });

  it('leaves JSON that is wanted back', () => {
    const message = {
      role: 'user',
      content: `Sort the keys and return the JSON exactly, otherwise unchanged.\n\n${json()}`,
    };
    expect(compress([message], { level }).messages[0]).toBe(message);
  });

  it('leaves JSON that shows how the answer should look', () => {
    const sample = `\`\`\`json\n${json(30)}\n\`\`\``;
    const content = `Respond in this format:\n\n${sample}\n\nThe data:\n${json(50)}`;
    const [out] = compress([{ role: 'user', content }], { level }).messages;
    expect(out?.content).not.toBe(content);
    expect(out?.content).toContain(sample);
  });

  it('leaves short prompts alone', () => {
    const message = { role: 'user', content: `Short.\n\n${json(4)}` };
    expect(compress([message], { level }).messages[0]).toBe(message);
  });

  it('never throws, grows a message or changes its mind, for any odd input', {
    timeout: 300_000,
  }, () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.constantFrom(
        json(30),
        log(20),
        file(12),
        '```',
        '```json\n',
        '<log>\n',
        '</log>\n',
        '\n\n',
        '[{"a":',
        '"\\',
        '\ud800',
        '[gw',
        '{"a":1}\n',
      ),
      fc.constantFrom(
        '<!-- gw:keep -->',
        'Document [1](Title: x) y\n',
        '    1\tx\n',
        '"""',
        '\u0000',
        '\r\n',
        '\t',
        '[[[[',
        'null',
      ),
    );
    const content = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
      fc.constantFrom(null, undefined, 7, [], [null, 3, { type: 'text' }, { type: 'text', text: 5 }]),
    );
    const message = fc.record({
      role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'x', 3),
      content,
      tool_call_id: fc.constant('a'),
    });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), (generated) => {
        const { messages, report } = compress(generated, { level });
        expect(messages.length).toBe(generated.length);
        for (const [i, { tokensBefore, tokensAfter }] of report.entries()) {
          if (messages[i] !== generated[i]) expect(tokensAfter).toBeLessThanOrEqual(tokensBefore * 0.95);
        }
        expect(compress(messages, { level }).messages).toEqual(messages);
        expect(compress(generated.slice(0, 2), { level }).messages).toEqual(messages.slice(0, 2));
      }),
      { numRuns: process.env.GW_LONG ? 50_000 : 2_000 },
    );
  });

  // Eight times the text takes a quadratic transform 64 times as long; the bound leaves room for a busy machine.
  it('takes time in proportion to the text', { retry: 3 }, () => {
    const texts = [
      log,
      json,
      file,
      (n: number) => '[{"a": '.repeat(n),
      (n: number) => 'x'.repeat(n * 50),
      (n: number) => '<a>\n'.repeat(n),
      (n: number) => '<document index="1">\n'.repeat(n),
      (n: number) => '<document index="1">\nabout it\n</document>\n'.repeat(n),
      (n: number) => `a${' '.repeat(n * 20)}b`,
    ];
    for (const make of texts) {
      const time = (count: number) => {
        const content = make(count);
        const runs = Array.from({ length: 5 }, () => {
          const start = process.cpuUsage();
          compress([{ role: 'tool', content }], { level });
          return process.cpuUsage(start).user;
        });
        return Math.min(...runs);
      };
      time(1000);
      const slackMicroseconds = 20_000;
      expect(time(8000)).toBeLessThan(time(1000) * 20 + slackMicroseconds);
    }
  });
});

describe('compress()', () => {
  it('is switched off by level off', () => {
    expect(compress(conversation, { level: 'off' }).messages).toEqual(conversation);
  });

  it('survives a line of ten million characters', () => {
    const message = { role: 'tool', content: `{"a":"${'x'.repeat(10_000_000)}` };
    expect(compress([message], { level: 'balanced' }).messages[0]).toBe(message);
  });
});
