import { describe, expect, test } from 'vitest';
import { parseShare, parseTiers } from '../../src/config/tiers.ts';

describe('parseTiers()', () => {
  test('reads the two tiers in any order, and the share', () => {
    const tiers = {
      strong: 'openai/gpt-5, anthropic/claude-opus-4-1',
      weak: { name: 'fast', models: 'ollama/qwen3:8b | openai/gpt-5-mini' },
      share: 0.3,
      up: false,
    };
    const parts = [`strong: ${tiers.strong}`, `fast: ${tiers.weak.models}`, 'share = 30%'];
    expect(parseTiers(parts.join('; '), 'gpt-5')).toEqual(tiers);
    expect(parseTiers(parts.reverse().join(';\n '), 'gpt-5')).toEqual(tiers);
    expect(parseTiers('strong:a;weak:b', 'gpt-5').share).toBeUndefined();
  });

  test.each([
    ['', 'no tier is called strong'],
    ['fast: a; slow: b', 'no tier is called strong'],
    ['strong: a', 'nothing to choose'],
    ['strong: a; fast: b; mid: c', 'besides strong there are fast and mid'],
    ['strong: a; strong: b', 'stands twice'],
    ['strong: ; fast: b', 'the tier strong has no model'],
    ['strong: a; fast: , |', 'the tier fast has no model'],
    ['strong: a; fast: a', 'a is of both tiers'],
    ['strong: a; fast: b; shore=30%', '"shore=30%" is neither'],
    ['strong: a; fast: b; share=130%', 'is no share'],
    ['strong: a; fast: b; share=', 'is no share'],
    ['strong: a; fast: x/gpt-5', 'stronger model than they ask for'],
  ])('refuses %j', (text, message) => {
    expect(() => parseTiers(text, 'gpt-5')).toThrow(message);
  });

  test('lets a model of the cheaper tier go up only where that is said', () => {
    expect(parseTiers('strong: a; fast: gpt-5-mini; up', 'gpt-5-mini').strong).toBe('a');
    expect(() => parseTiers('strong: a; fast: openai/gpt-5-mini', 'openai/gpt-5-mini')).toThrow('add: up');
  });
});

test('parseShare() takes percents and parts', () => {
  expect(['0', '100%', '12.5%', 0.5, '1'].map(parseShare)).toEqual([0, 1, 0.125, 0.5, 1]);
  for (const wrong of ['-1%', '1.1', 'half', '', null, undefined, {}, '1e9', 'NaN']) {
    expect(() => parseShare(wrong)).toThrow('is no share');
  }
});
