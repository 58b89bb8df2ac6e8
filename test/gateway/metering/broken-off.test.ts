import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admit } from '../../../src/gateway/admission/admit.ts';
import { meterCall } from '../../../src/gateway/metering/meter.ts';
import type { Metering } from '../../../src/gateway/metering/metered.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';

const LIMIT = 4_000;
/** The fastest rate that gw assumes. */
const PER_MS = 0.5;
/** The longest that a provider of the model below takes to notice that its client has gone. */
const NOTICE_MS = 1_000;

/** A stretch of an answer: its tokens, of one byte each, are sent when it is over, unless they are hidden. */
interface Stretch {
  ms: number;
  kind: 'text' | 'hidden' | 'silence';
  /** Of the fastest rate. */
  pace: number;
  /** Something is sent at its end even if it is no text, as a provider keeps a connection alive. */
  ping: boolean;
}

const part = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
const stretch: fc.Arbitrary<Stretch> = fc.record({
  ms: fc.integer({ min: 1, max: 2_000 }),
  kind: fc.constantFrom('text', 'hidden', 'silence'),
  pace: part,
  ping: fc.boolean(),
});

interface Case {
  stretches: Stretch[];
  /** The moment of the cut, of the whole time. */
  cutAt: number;
  noticeMs: number;
  /** The host generates on without its client. */
  goesOn: boolean;
  isStream: boolean;
}

const anyCase: fc.Arbitrary<Case> = fc.record({
  stretches: fc.array(stretch, { minLength: 1, maxLength: 8 }),
  cutAt: part,
  noticeMs: fc.integer({ min: 0, max: NOTICE_MS }),
  goesOn: fc.boolean(),
  isStream: fc.boolean(),
});

/** What a scripted provider bills of the answer, and what was seen of it until the cut. */
function play({ stretches, cutAt, noticeMs, goesOn, isStream }: Case) {
  const cutMs = Math.floor(cutAt * stretches.reduce((sum, { ms }) => sum + ms, 0));
  const stopsAtMs = goesOn || !isStream ? Infinity : cutMs + noticeMs;
  const seen = {
    text: '',
    firstByteAt: undefined as number | undefined,
    lastByteAt: undefined as number | undefined,
  };
  let at = 0;
  let billed = 0;
  for (const { ms, kind, pace, ping } of stretches) {
    const generatedMs = Math.max(0, Math.min(ms, stopsAtMs - at));
    if (kind !== 'silence') billed += Math.floor(generatedMs * PER_MS * pace);
    at += ms;
    if (!isStream || at > cutMs || !(kind === 'text' || ping)) continue;
    if (kind === 'text') seen.text += 'x'.repeat(Math.floor(ms * PER_MS * pace));
    seen.firstByteAt ??= at;
    seen.lastByteAt = at;
  }
  return { cutMs, billed: Math.min(billed, LIMIT), seen };
}

type Booking = (played: Case, of: ReturnType<typeof play>) => Promise<number>;

async function start() {
  const { gateway, clock, contextOf, targetOf } = await openGatewayParts({
    budget: { period: 'daily', capUsd: 100 },
  });
  const target = await targetOf('mock/test-model');
  const admitted = async (stream: boolean) => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const context = contextOf({ model: 'mock/test-model', messages, max_tokens: LIMIT, stream });
    return { context, admitted: await admit(gateway, context, target, gateway.calendar()) };
  };
  const [streamed, plain] = [await admitted(true), await admitted(false)];

  /** What gw books of an answer that has ended like this. */
  const book =
    (end: Pick<Metering, 'whole' | 'mayGoOn'>): Booking =>
    async ({ isStream, goesOn }, { cutMs, seen }) => {
      const sentAt = clock.monotonic();
      await clock.advance(cutMs);
      const moment = (ms: number | undefined) => (ms === undefined ? undefined : sentAt + ms);
      const relay = {
        status: 200,
        usage: undefined,
        usageIs: undefined,
        toolResults: { count: 0, bytes: 0 },
        isReadable: true,
        isStream,
        firstByteAt: moment(seen.firstByteAt),
        lastByteAt: moment(seen.lastByteAt),
        receivedText: () => [seen.text],
        unended: '',
        firstEvents: Buffer.alloc(0),
        unsent: undefined,
      };
      const request = isStream ? streamed : plain;
      const provider = { ...target.provider, stopsOnHangUp: !goesOn };
      const metering = { ...request, target: { ...target, provider }, relay, sentAt, ...end };
      const { usage, costNanoUsd } = await meterCall(gateway, metering, { kind: 'complete' });
      expect(costNanoUsd).toBeLessThanOrEqual(request.admitted.heldNanoUsd);
      return usage.outputTokens;
    };
  return book;
}

function neverBelow(book: Booking, examples = 400) {
  const property = fc.asyncProperty(anyCase, async (each) => {
    const played = play(each);
    expect(await book(each, played)).toBeGreaterThanOrEqual(played.billed);
  });
  return fc.check(property, { numRuns: examples });
}

test('a broken-off answer is never booked below what its provider bills', async () => {
  const book = await start();
  const result = await neverBelow(book({ whole: false, mayGoOn: true }));
  expect(fc.defaultReportMessage(result) ?? '').toBe('');
});

type Book = Awaited<ReturnType<typeof start>>;
test.each<[string, (book: Book) => Booking]>([
  ['what was seen', (book) => book({ whole: true, mayGoOn: false })],
  ['the time until the cut, at every host', (book) => book({ whole: false, mayGoOn: false })],
  [
    'no host goes on',
    (book) => (each, played) => book({ whole: false, mayGoOn: true })({ ...each, goesOn: false }, played),
  ],
  [
    'the time before the first byte and after the last',
    () =>
      async ({ isStream, goesOn }, { cutMs, seen: { text, firstByteAt, lastByteAt } }) => {
        if (goesOn || !isStream) return LIMIT;
        const afterMs = lastByteAt === undefined ? 0 : cutMs - lastByteAt;
        const unseenMs = (firstByteAt ?? cutMs) + afterMs + NOTICE_MS;
        return Math.min(LIMIT, text.length + Math.ceil(unseenMs * PER_MS));
      },
  ],
])('the test catches a rule that is too low: %s', async (_, ruleOf) => {
  expect((await neverBelow(ruleOf(await start()), 20_000)).failed).toBe(true);
});
