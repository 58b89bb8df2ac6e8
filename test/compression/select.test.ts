import { describe, expect, it } from 'vitest';
import { compress, type Message } from '../../src/compression/conversation/compress.ts';

function answerTo(question: string, content: string): string {
  const messages: Message[] = [
    { role: 'user', content: question },
    { role: 'tool', tool_call_id: 'a', content },
  ];
  return String(compress(messages, { level: 'balanced' }).messages[1]?.content);
}

const orders = JSON.stringify(
  Array.from({ length: 60 }, (_, i) => ({
    order_id: `#W${1000 + i}`,
    user: `user_${i}`,
    amount: i * 3.5,
    status: i % 9 ? 'sent' : 'open',
  })),
  null,
  2,
);

describe('rows of JSON', () => {
  it('are chosen for a look-up by id, with a mark that says how many went', () => {
    const out = answerTo('Who placed order #W1037?', orders);
    expect(out).toContain('{"order_id":"#W1037","user":"user_37","amount":129.5,"status":"sent"}');
    expect(out).not.toContain('#W1038');
    expect(out).toMatch(/^\[gw: left out, as the question doesn't name them: 58 of 60 rows\]/);
  });

  it.each([
    'What is the total amount of all orders?',
    'Which order has the highest amount?',
    'Is #W1037 more expensive than the others?',
    'Which orders are open?',
  ])('all stay for "%s"', (question) => {
    const out = answerTo(question, orders);
    for (let i = 0; i < 60; i++) expect(out).toContain(`#W${1000 + i}`);
  });
});

describe('log lines', () => {
  const lines = Array.from(
    { length: 300 },
    (_, i) =>
      `2024-05-01 10:${String(Math.floor(i / 60)).padStart(2, '0')}:${String(i % 60).padStart(2, '0')} INFO worker ${i % 4} did job ${i * 31}`,
  );
  lines[100] = '2024-05-01 10:01:40 ERROR worker 3 lost connection to db-7: timed out';
  const log = lines.join('\n');

  it('of a pattern go, errors and what is named stay', () => {
    const out = answerTo('Why did the import of job 6200 stop?', log).split('\n');
    expect(out).toContain(lines[100]);
    expect(out).toContain(lines[200]);
    expect(out.length).toBeLessThan(20);
  });

  it('of an error that fills the log are samples, and other errors stay', () => {
    const noisy = lines.map((line, i) =>
      i % 3 === 0 ? line.replace('INFO', 'WARN').replace('did job', 'failed to renew lease') : line,
    );
    noisy[100] = lines[100] ?? '';
    const out = answerTo('What went wrong?', noisy.join('\n')).split('\n');
    expect(out).toContain(lines[100]);
    expect(out.filter((line) => line.includes('WARN')).length).toBeGreaterThan(0);
    expect(out.length).toBeLessThan(40);
  });

  it('all stay when the question counts', () => {
    const out = answerTo('How many jobs did worker 2 do?', log);
    expect(out.split('\n').length).toBeGreaterThan(300);
  });
});

it('rows of a table all stay', () => {
  const table = Array.from(
    { length: 200 },
    (_, i) => `2024-05-01 10:00:${(i % 60) + 10},${i * 31},city ${i % 7}`,
  );
  const out = answerTo('When did the count peak in city 3?', ['time,count,city', ...table].join('\n'));
  for (let i = 0; i < 200; i++) expect(out).toContain(String(i * 31));
});

it('entries of a listing all stay when none is named', () => {
  const files = Array.from(
    { length: 120 },
    (_, i) => `-rw-r--r-- 1 dev dev ${i * 31} 2026-11-20 17:51 part-${i}.bin`,
  );
  const out = answerTo('What is there?', ['total 440', ...files].join('\n'));
  for (let i = 0; i < 120; i++) expect(out).toMatch(new RegExp(`part-${i}\\.bin|\\b${i}\\.bin|-${i}\\b`));
});

describe('documents', () => {
  const topics = [
    'rivers',
    'bridges',
    'painters',
    'violins',
    'glaciers',
    'printing',
    'whales',
    'castles',
    'comets',
    'bees',
    'tea',
    'clocks',
  ];
  const documents = topics
    .map(
      (topic, i) => `Document [${i + 1}](Title: On ${topic}) ${`Much is known about ${topic}. `.repeat(20)}`,
    )
    .join('\n');
  const ask = (question: string) => {
    const message = {
      role: 'user',
      content: `Use the search results.\n\n${documents}\n\nQuestion: ${question}\nAnswer:`,
    };
    return String(compress([message], { level: 'balanced' }).messages[0]?.content);
  };

  it('that have nothing to do with the question go, the others keep their order and numbers', () => {
    const out = ask('who builds violins and clocks');
    expect(out).toContain('Document [4](Title: On violins)');
    expect(out.indexOf('Document [12]')).toBeGreaterThan(out.indexOf('Document [4]'));
    expect(out).not.toContain('whales');
    expect(out).toMatch(/^Use the search results\.\n\nDocument/);
    expect(out).toMatch(/\nQuestion: who builds violins and clocks\nAnswer:$/);
  });

  it('are found under title lines, too', () => {
    const titled = topics
      .map((topic) => `Title: On ${topic}\n${`Much is known about ${topic}. `.repeat(20)}`)
      .join('\n\n');
    const message = { role: 'user', content: `${titled}\n\nWho builds violins?` };
    const out = String(compress([message], { level: 'balanced' }).messages[0]?.content);
    expect(out).toContain('Title: On violins');
    expect(out).not.toContain('whales');
    expect(out).toMatch(/Who builds violins\?$/);
  });

  it('stay when the question names their title, however little they say of it', () => {
    const short = 'Document [13](Title: Umber) A brown.';
    const message = {
      role: 'user',
      content: `${documents}\n${short}\n\nQuestion: do painters of castles use umber for bridges, bees and clocks\nAnswer:`,
    };
    const out = String(compress([message], { level: 'balanced' }).messages[0]?.content);
    expect(out).toContain(short);
    expect(out).not.toContain('whales');
  });

  it('all stay when the best of them hold little of what is asked', () => {
    for (const topic of topics)
      expect(ask('which vaccination against pertussis began much later')).toContain(`On ${topic}`);
  });

  it('in tags go whole, the last one too, and tags in them are no documents', () => {
    const tagged = topics
      .map(
        (topic, i) =>
          `<document index="${i + 1}">\n<source>On ${topic}</source>\n<document_content>\n${`Much is known about ${topic}. `.repeat(20)}\n</document_content>\n</document>\n`,
      )
      .join('');
    const message = { role: 'user', content: `<documents>\n${tagged}</documents>\n\nWho builds violins?` };
    const out = String(compress([message], { level: 'balanced' }).messages[0]?.content);
    expect(out).toContain('<source>On violins</source>');
    expect(out).not.toContain('clocks');
    expect(out.match(/<document /g)).toHaveLength(out.match(/<\/document>/g)?.length ?? 0);
  });

  it('that a tool finds are chosen by the last real question', () => {
    const messages = [
      { role: 'user', content: 'Who builds violins?' },
      { role: 'assistant', content: 'Shall I search?' },
      { role: 'user', content: 'ok, go on' },
      { role: 'tool', tool_call_id: 'a', content: documents },
    ];
    const out = String(compress(messages, { level: 'balanced' }).messages[3]?.content);
    expect(out).toContain('On violins');
    expect(out).not.toContain('whales');
  });

  it('all stay when each one counts', () => {
    for (const topic of topics) expect(ask('summarize each document in a line')).toContain(topic);
  });

  it('all stay in a system message, which comes before any question', () => {
    const system = { role: 'system', content: documents };
    expect(compress([system, { role: 'user', content: 'violins?' }], { level: 'balanced' }).messages[0]).toBe(
      system,
    );
  });
});

describe('examples', () => {
  const examples = Array.from(
    { length: 40 },
    (_, i) => `Q: What is ${i} plus ${i}, and why would anyone ask?\nA: ${i + i}`,
  );

  it('beyond the first eight go, the same whatever the question', () => {
    const system = { role: 'system', content: ['Add up.', ...examples].join('\n\n') };
    const outs = ['1+1?', 'What about ducks?'].map(
      (content) => compress([system, { role: 'user', content }], { level: 'balanced' }).messages[0],
    );
    expect(outs[0]).toEqual(outs[1]);
    const out = String(outs[0]?.content);
    for (const kept of examples.slice(0, 8)) expect(out).toContain(kept);
    expect(out).toContain('[gw: 31 more examples of this form left out]');
  });

  it('leave the task at their end', () => {
    const content = ['Add up.', ...examples, 'Q: What is 5 plus 6?\nA:'].join('\n\n');
    const out = String(compress([{ role: 'user', content }], { level: 'balanced' }).messages[0]?.content);
    expect(out).toMatch(/\n\nQ: What is 5 plus 6\?\nA:$/);
  });
});
