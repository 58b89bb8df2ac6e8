import { describe, expect, test } from 'vitest';
import { labelsOf, labelsText, mergeLabels, parseLabels, readLabels } from '../src/labels.ts';

describe('labels', () => {
  test('of a header and of an object are the same, in any order', () => {
    const text = labelsText(parseLabels('feature=search, customer = acme', 'x'));
    expect(text).toBe('{"customer":"acme","feature":"search"}');
    expect(labelsText(readLabels({ feature: 'search', customer: 'acme' }, 'x'))).toBe(text);
    expect(labelsOf(text)).toEqual(parseLabels('customer=acme,feature=search', 'x'));
  });

  test('may have names that objects know', () => {
    const labels = parseLabels('constructor=a,toString=b', 'x');
    expect([...labelsOf(labelsText(labels))]).toEqual([...labels]);
  });

  test('of the first origin that has a name count', () => {
    const merged = mergeLabels('x', parseLabels('a=1', 'x'), parseLabels('a=2,b=2', 'x'), undefined);
    expect([...(merged ?? [])]).toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
  });

  test.each([
    ['customer', 'use NAME=VALUE'],
    ['customer=', 'a value has 1 to 64 characters'],
    [`customer=${'x'.repeat(65)}`, 'a value has 1 to 64 characters'],
    ['1st=x', 'a name is a letter'],
    ['a"b=x', 'a name is a letter'],
    [Array.from({ length: 9 }, (_, i) => `n${i}=x`).join(), '9 labels: a request may have 8'],
  ])('%s is refused', (text, message) => {
    expect(() => parseLabels(text, 'x-service-labels')).toThrow(message);
  });

  test.each([[null], ['customer=acme'], [{ customer: 5 }]])('an object %j is refused', (value) => {
    expect(() => readLabels(value, 'service.labels')).toThrow('service.labels');
  });
});
