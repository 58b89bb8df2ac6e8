import type { Dispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { createStallWatch } from '../../../src/gateway/state/stall-watch.ts';
import { type CallEnd, send } from '../../../src/gateway/upstream/send.ts';

const RECEIVER = { head: () => {}, data: () => true };
const OUTGOING = { path: '/v1/chat/completions', headers: [], body: Buffer.from('{}') };

/** A call to a provider whose connection the test opens, breaks and closes. */
function call() {
  let handler: Dispatcher.DispatchHandler = {};
  const dispatcher = {
    dispatch(_options: unknown, given: Dispatcher.DispatchHandler) {
      handler = given;
      return true;
    },
  };
  const upstream = {
    dispatcher: dispatcher as unknown as Dispatcher,
    way: { proxy: undefined, source: undefined },
    stalls: createStallWatch({ firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 }),
  };
  const running = send(upstream, OUTGOING, RECEIVER);
  const { end } = running;
  let ended: CallEnd | undefined;
  void end.then((value) => {
    ended = value;
  });
  return { end, abort: () => running.abort(), ended: () => ended, handler: () => handler };
}

describe('an aborted call', () => {
  test('that waits for a connection ends at once, as never sent', async () => {
    const { end, abort, handler } = call();
    abort();
    expect(await end).toEqual({ kind: 'aborted', sent: false });
    let closed = false;
    handler().onConnect?.(() => {
      closed = true;
    });
    expect(closed).toBe(true);
    handler().onError?.(new Error('aborted'));
    expect(await end).toEqual({ kind: 'aborted', sent: false });
  });

  test('that has a connection ends when that is closed, as sent', async () => {
    const { end, abort, handler } = call();
    handler().onConnect?.(() => handler().onError?.(new Error('aborted')));
    abort();
    expect(await end).toEqual({ kind: 'aborted', sent: true });
  });

  test('that has ended keeps its result', async () => {
    const { end, abort, handler } = call();
    handler().onConnect?.(() => {});
    handler().onComplete?.([]);
    abort();
    expect(await end).toEqual({ kind: 'complete' });
  });
});

describe('a call that fails', () => {
  const error = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

  test('before it has a connection was never sent', async () => {
    const { end, handler } = call();
    handler().onError?.(error);
    expect(await end).toEqual({ kind: 'failed', error, sent: false, answered: false });
  });

  test('after it has a connection may have been sent; after its head, it was answered', async () => {
    const first = call();
    first.handler().onConnect?.(() => {});
    first.handler().onError?.(error);
    expect(await first.end).toMatchObject({ sent: true, answered: false });
    const second = call();
    second.handler().onConnect?.(() => {});
    second.handler().onHeaders?.(103, [], () => {}, 'Early Hints');
    second.handler().onHeaders?.(200, [], () => {}, 'OK');
    second.handler().onError?.(error);
    expect(await second.end).toMatchObject({ sent: true, answered: true });
  });
});
