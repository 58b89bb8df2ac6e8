import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { MODEL, startGateway, type TestGateway } from '../support/gateway.ts';

const LONG = Boolean(process.env.GW_LONG);

interface Message {
  role: string;
  content: string | null;
  tool_calls?: unknown[];
  tool_call_id?: string;
}

/** The next turn of an agent: a call of a tool and its result. */
function grow(messages: Message[], turn: number): Message[] {
  const rows = Array.from({ length: 60 + (turn % 5) * 40 }, (_, id) => ({
    id,
    turn,
    state: 'active',
    owner: 'a',
  }));
  const call = {
    id: `call_${turn}`,
    type: 'function',
    function: { name: 'list', arguments: `{"turn":${turn}}` },
  };
  return [
    ...messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: JSON.stringify(rows) },
  ];
}

/** Runs conversations side by side. Returns how many turns came with another beginning than the turn before. */
async function countFlips(gateway: TestGateway, conversations: number, turns: number) {
  let flips = 0;
  let compressed = 0;
  const sentOf = (name: string) => {
    const bodies = gateway.upstream.requests.map(({ body }) => body.toString());
    return bodies.filter((body) => body.includes(`"Task ${name}."`)).at(-1) ?? '{}';
  };
  await Promise.all(
    Array.from({ length: conversations }, async (_, name) => {
      let messages: Message[] = [{ role: 'user', content: `Task ${name}.` }];
      let previous: Message[] = [];
      for (let turn = 0; turn < turns; turn++) {
        messages = grow(messages, turn);
        expect((await gateway.post({ model: MODEL, messages })).status).toBe(200);
        const sent = (JSON.parse(sentOf(String(name))) as { messages: Message[] }).messages;
        if (JSON.stringify(sent.slice(0, previous.length)) !== JSON.stringify(previous)) flips++;
        if (JSON.stringify(sent) !== JSON.stringify(messages)) compressed++;
        previous = sent;
        if (gateway.upstream.requests.length > 200) gateway.upstream.requests.splice(0, 100);
      }
    }),
  );
  return { flips, compressed };
}

test.each([1, 5, 60_000])('a prompt keeps its beginning under a deadline of %i ms', async (deadline) => {
  const gateway = await startGateway({ settings: { 'optimizer.deadline_ms': deadline } });
  const { flips, compressed } = await countFlips(gateway, 4, 8);
  expect(flips).toBe(0);
  if (deadline === 60_000) expect(compressed).toBeGreaterThan(20);
});

test('short prompts of many tokens keep theirs, too', async () => {
  const gateway = await startGateway();
  const dense = Array.from({ length: 20 }, (_, i) => `{"a1":"b2c3","d4":"e5","n${i}":"f6g7h8"}`).join('\n');
  const messages: Message[] = [
    { role: 'user', content: 'Task 0.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'l', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: dense },
  ];
  const sent: Message[][] = [];
  for (const prompt of [messages, [...messages, { role: 'assistant', content: 'x'.repeat(900) }]]) {
    await gateway.post({ model: MODEL, messages: prompt });
    sent.push(
      (JSON.parse(String(gateway.upstream.requests.at(-1)?.body)) as { messages: Message[] }).messages,
    );
  }
  expect(sent[1]?.slice(0, 3)).toEqual(sent[0]);
});

test.runIf(LONG)(
  '1,000 turns keep their beginnings while all cores are busy',
  { timeout: 1_200_000 },
  async () => {
    const burners = Array.from({ length: 2 * availableParallelism() }, () =>
      spawn(process.execPath, ['-e', 'for (;;) {}'], { stdio: 'ignore' }),
    );
    onTestFinished(() => {
      for (const burner of burners) burner.kill('SIGKILL');
    });
    // The default deadline.
    const gateway = await startGateway({ settings: { 'optimizer.deadline_ms': 50 } });
    const { flips, compressed } = await countFlips(gateway, 40, 25);
    console.log(`1,000 turns: ${flips} flips, ${compressed} sent compressed`);
    expect(flips).toBe(0);
  },
);
