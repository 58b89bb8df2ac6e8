import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PLAIN, STREAM, startGateway } from '../support/gateway.ts';
import { json, respond, type Script } from '../support/scripts.ts';

const KEY = 'Zq7-provider-Key/0123+456789abcdefXYZ';
const CUT = KEY.slice(3, 25);
const ENCODED = Buffer.from(`key=${KEY}!`).toString('base64');
const MESSAGE = `wrong key ${KEY}, ${encodeURIComponent(KEY)}, ${ENCODED}, ${CUT}`;
/** Twelve characters of it in a row, in each encoding. */
const TRACES = [KEY, encodeURIComponent(KEY), ENCODED.slice(8, -8)].flatMap((spelled) =>
  Array.from({ length: spelled.length - 11 }, (_, i) => spelled.slice(i, i + 12)),
);

/** Sends the events in two pieces, the second of which begins within the key. */
function brokenStream(before: string): Script {
  const error = `data: ${JSON.stringify({ error: { message: MESSAGE, type: 'server_error' } })}\n\n`;
  const cut = error.indexOf(KEY) + 9;
  return async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream', 'x-request-id': `req-${KEY}` });
    await exchange.chunk(before + error.slice(0, cut));
    await exchange.chunk(error.slice(cut));
    await exchange.finish();
  };
}

const CHUNK = `data: ${JSON.stringify({ id: `chatcmpl-${KEY}`, choices: [{ index: 0, delta: { content: 'Hi' } }] })}\n\n`;

test.each<[string, object, Script]>([
  ['an error event after content', STREAM, brokenStream(CHUNK)],
  ['an error event first', STREAM, brokenStream('')],
  ['an error status', PLAIN, json(401, { error: { message: MESSAGE } }, { 'x-echo': `Bearer ${KEY}` })],
  ['a page', PLAIN, respond(500, { 'content-type': 'text/html' }, `<pre>${MESSAGE}</pre>`)],
  ['the ids of an answer', PLAIN, json(200, { id: `id-${KEY}`, choices: [] }, { 'x-request-id': KEY })],
])(
  'a provider that quotes its key in %s: it is in no record, log, header or error',
  async (_name, body, script) => {
    const gateway = await startGateway({ credentials: { mock: KEY } });
    gateway.upstream.script(script);
    const answer = await gateway.post(body);
    const id = answer.header('x-service-request-id');
    await gateway.records();
    const shown = [
      JSON.stringify(await gateway.records()),
      (await gateway.get(`/v1/requests/${id}`)).text(),
      (await gateway.get(`/v1/gw/calls?agent=&since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z`)).text(),
      JSON.stringify(gateway.logged),
      JSON.stringify(answer.head),
      ...(answer.status === 200 && body === PLAIN ? [] : [answer.text().replace(CHUNK, '')]),
    ].join('\n');
    await gateway.stop();
    const stored = ['gw.db', 'gw.db-wal'].map((name) => fileText(`${gateway.paths.home}/${name}`)).join('');
    expect(TRACES.filter((trace) => (shown + stored).includes(trace))).toEqual([]);
    expect(shown).toContain('[redacted]');
  },
);

function fileText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
