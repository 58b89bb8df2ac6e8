import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits, insertMember, removeElements, removeMember, replaceValue } from '../../src/json/edit.ts';
import { scanArray, scanObject } from '../../src/json/scan.ts';

const bytes = Buffer.from('{ "a" : 1 , "b":"é" ,"c":[] }');
const members = scanObject(bytes);
const [a, b, c] = members;
if (!a || !b || !c) throw new Error('three members were to be found');

test.each([
  [[], '[1 , 2,3]'],
  [[0], '[2,3]'],
  [[1], '[1 , 3]'],
  [[2], '[1 , 2]'],
  [[0, 2], '[2]'],
  [[1, 2], '[1]'],
  [[0, 1, 2], '[]'],
])('removeElements() takes elements %j out of an array with their commas', (removed, expected) => {
  const list = Buffer.from('[1 , 2,3]');
  const elements = scanArray(list, 0);
  const edits = removeElements(elements, (element) => removed.includes(elements.indexOf(element)));
  expect(applyEdits(list, edits).toString()).toBe(expected);
});

describe('applyEdits()', () => {
  test('without edits gives the same bytes, not a copy', () => {
    expect(applyEdits(bytes, [])).toBe(bytes);
  });

  test('makes edits in the order of their places, whatever their order', () => {
    const edits = [replaceValue(c, '3'), insertMember(members, 'x', 'null'), replaceValue(a, '"ü"')];
    expect(applyEdits(bytes, edits).toString()).toBe('{ "x":null,"a" : "ü" , "b":"é" ,"c":3 }');
  });

  test.each([
    ['the first', a, '{ "b":"é" ,"c":[] }'],
    ['one in the middle', b, '{ "a" : 1 , "c":[] }'],
    ['the last', c, '{ "a" : 1 , "b":"é" }'],
  ])('removes %s with its comma', (_name, member, expected) => {
    expect(applyEdits(bytes, [removeMember(members, member)]).toString()).toBe(expected);
  });

  test('an insertion before a first member that goes stays', () => {
    const edits = [
      removeMember(members, a),
      insertMember(members, 'x', '1'),
      insertMember(members, 'y', '2'),
    ];
    expect(applyEdits(bytes, edits).toString()).toBe('{ "x":1,"y":2,"b":"é" ,"c":[] }');
  });

  test('any replacements leave the bytes between them as they were', () => {
    const cuts = fc.uniqueArray(fc.nat(bytes.length), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(cuts, fc.string(), (places, text) => {
        const sorted = [...places].sort((x, y) => x - y).slice(0, places.length - (places.length % 2));
        const edits = [];
        let expected = Buffer.alloc(0);
        let from = 0;
        for (let i = 0; i < sorted.length; i += 2) {
          const [start = 0, end = 0] = sorted.slice(i, i + 2);
          edits.unshift({ start, end, text });
          expected = Buffer.concat([expected, bytes.subarray(from, start), Buffer.from(text)]);
          from = end;
        }
        expect(applyEdits(bytes, edits).equals(Buffer.concat([expected, bytes.subarray(from)]))).toBe(true);
      }),
    );
  });
});
