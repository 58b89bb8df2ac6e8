import { describe, expect, test } from 'vitest';
import { createAccountSurcharges } from '../../../src/gateway/state/account-surcharges.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import type { Surcharges } from '../../../src/wire/request/surcharges.ts';

const HOUR_MS = 3_600_000;

function target(name: string, { model = 'm', key = 'a' } = {}): Target {
  const wire = name === 'anthropic' ? 'anthropic' : 'openai';
  return {
    provider: {
      name,
      wire,
      origin: `https://api.${name}.com`,
      basePath: '/v1',
      outputLimit: 'max_tokens',
      local: false,
      stopsOnHangUp: false,
      authHeaders: ['x-api-key', key],
      keySource: 'stored',
      source: 'config',
    },
    model,
  };
}

const asking = (terms: Record<string, string>): Surcharges => ({
  terms,
  fallbacks: [],
  unknown: undefined,
});
const GLOBAL = { inference_geo: 'global' };
const US = { inference_geo: 'us' };

function start() {
  let nowMs = Date.parse('2026-11-20T12:00:00Z');
  const surcharges = createAccountSurcharges(() => nowMs);
  return {
    ...surcharges,
    later: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("an Anthropic workspace's region", () => {
  const claude = target('anthropic');

  test('costs a tenth more until an answer says that it is global', () => {
    const { of, learn } = start();
    expect(of(claude)).toBe(1.1);
    learn(claude, undefined, GLOBAL);
    expect(of(claude)).toBe(1);
  });

  test('is the same for all models of a credential, and for no other credential', () => {
    const { of, learn } = start();
    learn(claude, undefined, GLOBAL);
    expect(of(target('anthropic', { model: 'another' }))).toBe(1);
    expect(of(target('anthropic', { key: 'b' }))).toBe(1.1);
  });

  test('is forgotten after a day', () => {
    const { of, learn, later } = start();
    learn(claude, undefined, GLOBAL);
    later(24 * HOUR_MS - 1);
    expect(of(claude)).toBe(1);
    later(1);
    expect(of(claude)).toBe(1.1);
    learn(claude, undefined, GLOBAL);
    expect(of(claude)).toBe(1);
  });

  test.each(['us', 'eu', ''])('is forgotten when an answer of any model says %j', (inference_geo) => {
    const { of, learn } = start();
    learn(claude, undefined, GLOBAL);
    learn(target('anthropic', { model: 'another' }), undefined, { inference_geo });
    expect(of(claude)).toBe(1.1);
  });

  test('is not learnt from an answer that does not report it', () => {
    const { of, learn } = start();
    for (const usage of [undefined, {}, { inference_geo: null }, { input_tokens: 1 }])
      learn(claude, undefined, usage);
    expect(of(claude)).toBe(1.1);
  });

  test('is not learnt from a request that named a region itself', () => {
    const { of, learn } = start();
    learn(claude, asking({ inference_geo: 'global' }), GLOBAL);
    expect(of(claude)).toBe(1.1);
    learn(claude, undefined, GLOBAL);
    learn(claude, asking({ inference_geo: 'us' }), US);
    expect(of(claude)).toBe(1);
  });

  test('is learnt from a request with other surcharges', () => {
    const { of, learn } = start();
    learn(claude, asking({ speed: 'fast' }), GLOBAL);
    expect(of(claude)).toBe(1);
  });

  test('does not count for a request that names its own, and counts on top of other surcharges', () => {
    const { of, learn } = start();
    expect(of(claude, asking({ inference_geo: 'global' }))).toBe(1);
    expect(of(claude, asking({ inference_geo: 'us' }))).toBe(1.1);
    expect(of(claude, asking({ speed: 'fast' }))).toBeCloseTo(6.6);
    learn(claude, undefined, GLOBAL);
    expect(of(claude, asking({ speed: 'fast' }))).toBe(6);
  });

  test('counts for no model that has no regions', () => {
    const { of, learn, later } = start();
    learn(claude, undefined, { inference_geo: 'not_available' });
    expect(of(claude)).toBe(1);
    expect(of(target('anthropic', { model: 'another' }))).toBe(1.1);
    later(24 * HOUR_MS);
    expect(of(claude)).toBe(1.1);
  });
});

describe("an OpenAI project's service tier", () => {
  const gpt = target('openai');

  test('is the listed one until an answer reports a dearer one, for that model', () => {
    const { of, learn } = start();
    expect(of(gpt)).toBe(1);
    learn(gpt, undefined, { service_tier: 'priority' });
    expect(of(gpt)).toBe(2.5);
    expect(of(target('openai', { model: 'another' }))).toBe(1);
    expect(of(target('openai', { key: 'b' }))).toBe(1);
    learn(gpt, undefined, { service_tier: 'default' });
    expect(of(gpt)).toBe(1);
  });

  test('never lowers a hold below the listed price', () => {
    const { of, learn } = start();
    learn(gpt, undefined, { service_tier: 'flex' });
    expect(of(gpt)).toBe(1);
  });

  test('is not learnt from a request that named its own, nor counts for it', () => {
    const { of, learn } = start();
    learn(gpt, undefined, { service_tier: 'priority' });
    learn(gpt, asking({ service_tier: 'default' }), { service_tier: 'default' });
    expect(of(gpt)).toBe(2.5);
    expect(of(gpt, asking({ service_tier: 'default' }))).toBe(1);
  });
});
