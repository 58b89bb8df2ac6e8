import { describe, expect, test } from 'vitest';
import { pin, route } from '../../../src/gateway/routing/route.ts';
import type { RoutedTarget } from '../../../src/gateway/state/resolver.ts';
import { classify } from '../../../src/routing/classify.ts';
import type { UpstreamOutcome } from '../../../src/routing/failure.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';

const BODY = { model: 'many', messages: [{ role: 'user', content: 'Hi' }] };
const RATE_LIMITED: UpstreamOutcome = {
  kind: 'response',
  status: 429,
  headers: { 'retry-after': '30' },
  body: {},
};
const UNAVAILABLE: UpstreamOutcome = { kind: 'response', status: 503, headers: {}, body: {} };

/** A gateway whose model `many` has targets at the providers a, b and c. */
async function start(join = ', ') {
  const baseUrl = 'http://127.0.0.1:1/v1';
  const parts = await openGatewayParts({
    settings: {
      aliases: { many: ['a/m', 'b/m', 'c/m'].join(join) },
      providers: { a: { baseUrl }, b: { baseUrl }, c: { baseUrl, wire: 'anthropic' } },
    },
  });
  const { gateway, clock } = parts;
  const targets = await parts.targetsOf('many');
  function fail(name: string, outcome: UpstreamOutcome, times = 1): void {
    const target = targets.find(({ provider }) => provider.name === name);
    if (!target) throw new Error(`no target ${name}`);
    for (let i = 0; i < times; i++) {
      const permit = gateway.router.health.begin(target.candidate);
      permit.failed(classify(outcome, clock.now()), 10);
      permit.ended();
    }
  }
  const routeOf = (body: object = BODY) => route(gateway, parts.contextOf(body), targets);
  return { ...parts, targets, fail, routeOf };
}

const nameOf = ({ target }: { target: RoutedTarget }) => target.provider.name;
const namesOf = (targets: readonly RoutedTarget[]) => targets.map(({ provider }) => provider.name);

describe('route()', () => {
  test('chooses the target of the best priority, and keeps the others for a second attempt', async () => {
    const { routeOf } = await start();
    const chosen = routeOf();
    expect(nameOf(chosen)).toBe('a');
    expect(chosen).toMatchObject({ hasOthers: true, lastResort: false, why: 'as-asked' });
    expect(chosen.first).toBe(chosen.target);
    expect(namesOf(chosen.targets)).toEqual(['a', 'b', 'c']);
  });

  test('spreads requests over targets of equal priority', async () => {
    const { routeOf } = await start(' | ');
    const names = new Set(Array.from({ length: 100 }, () => nameOf(routeOf())));
    expect([...names].sort()).toEqual(['a', 'b', 'c']);
  });

  test.each<[string, UpstreamOutcome, number]>([
    ['rate limited', RATE_LIMITED, 1],
    ['failing', UNAVAILABLE, 5],
  ])('passes over a %s target until it is back', async (_, outcome, times) => {
    const { routeOf, fail, clock } = await start();
    fail('a', outcome, times);
    expect(nameOf(routeOf())).toBe('b');
    await clock.advance(10 * 60_000);
    expect(nameOf(routeOf())).toBe('a');
  });

  test('skips targets whose API has no translation of the request', async () => {
    const { gateway, contextOf, targets, fail } = await start();
    fail('a', RATE_LIMITED);
    fail('b', RATE_LIMITED);
    const { wire, ...context } = contextOf(BODY);
    const embeddings = { ...context, wire: { ...wire, endpoint: 'embeddings' } };
    expect(() => route(gateway, embeddings, targets)).toThrow(expect.objectContaining({ status: 429 }));
    expect(nameOf(route(gateway, { ...context, wire }, targets))).toBe('c');
  });

  test('keeps a conversation at the target that served it last', async () => {
    const { gateway, contextOf, targets } = await start(' | ');
    for (const target of targets) {
      const conversation = { key: `of ${target.provider.name}`, isNew: false };
      pin(gateway, { ...contextOf(BODY), conversation }, target.candidate);
      const context = { ...contextOf(BODY), conversation };
      expect(nameOf(route(gateway, context, targets))).toBe(target.provider.name);
    }
  });

  test('sends a stored response to the account that has it, even while that is failing', async () => {
    const { gateway, contextOf, targets, fail } = await start();
    const owner = targets[1];
    if (!owner) throw new Error('no target b');
    gateway.router.responses.set('resp_1', { target: owner.candidate });
    fail('b', UNAVAILABLE, 5);
    const body = { model: 'many', input: 'And?', previous_response_id: 'resp_1' };
    const chosen = route(gateway, contextOf(body, responsesWire), targets);
    expect(nameOf(chosen)).toBe('b');
    expect(chosen).toMatchObject({ hasOthers: true, lastResort: true });
    expect(namesOf(chosen.targets)).toEqual(['b']);
  });

  test('refuses with 429 when every target is rate limited, until the first of them is back', async () => {
    const { routeOf, fail } = await start();
    for (const name of ['a', 'c']) fail(name, { ...RATE_LIMITED, headers: { 'retry-after': '60' } });
    fail('b', RATE_LIMITED);
    expect(() => routeOf()).toThrow(
      expect.objectContaining({
        status: 429,
        code: 'upstream_rate_limited',
        headers: { 'retry-after': '30', 'retry-after-ms': '30000' },
        message:
          'b has rate limited m and accepts requests again in 30 s. To send the request anyway: "service": {"route": false}',
      }),
    );
  });

  test.each(['routing is off', 'it is the only one'])('takes a rate-limited target if %s', async (reason) => {
    const { gateway, contextOf, targets, fail } = await start();
    fail('a', RATE_LIMITED);
    const isOff = reason === 'routing is off';
    const context = contextOf(isOff ? { ...BODY, service: { route: false } } : BODY);
    const chosen = route(gateway, context, isOff ? targets : targets.slice(0, 1));
    expect(nameOf(chosen)).toBe('a');
    expect(chosen).toMatchObject({ hasOthers: false, why: isOff ? 'off' : 'as-asked' });
    expect(chosen.targets).toHaveLength(1);
  });
});
