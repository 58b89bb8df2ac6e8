import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { enterScreen, LEAVE, type Tty } from '../../src/tui/run.tsx';

function terminal(columns = 20, rows = 5) {
  const written: string[] = [];
  const tty = Object.assign(new EventEmitter(), {
    columns,
    rows,
    write: (text: string) => written.push(text) > 0,
  });
  // Only these parts of a terminal are used.
  return { tty, written, screen: enterScreen(tty as unknown as Tty), take: () => written.splice(0).join('') };
}

const frame = (text: string) => [{ x: 0, y: 0, lines: text.split('\n') }];

describe('enterScreen()', () => {
  test('writes only the lines that changed', () => {
    const { screen, take } = terminal();
    screen.paint(frame('one\ntwo\nthree'));
    take();
    screen.paint(frame('one\n2\nthree'));
    const text = take();
    expect(text).toContain('\u001b[2;1H\u001b[0m\u001b[K2');
    expect(text).not.toContain('one');
    expect(text).not.toContain('three');
    screen.paint(frame('one\n2\nthree'));
    expect(take()).toBe('');
  });

  test('clears the extra lines of a taller frame before', () => {
    const { screen, take } = terminal();
    screen.paint(frame('one\ntwo'));
    take();
    screen.paint(frame('one'));
    expect(take()).toContain('\u001b[2;1H\u001b[0m\u001b[K');
  });

  test('never writes a line break or below the last row', () => {
    const { screen, take } = terminal(20, 2);
    screen.paint(frame('one\ntwo\nthree'));
    const text = take();
    expect(text).not.toContain('\n');
    expect(text).not.toContain('three');
  });

  test('clears and repaints everything after a resize', () => {
    const { screen, tty, take } = terminal();
    screen.paint(frame('one\ntwo'));
    take();
    let resized = 0;
    screen.onResize(() => resized++);
    tty.columns = 10;
    tty.emit('resize');
    screen.paint(frame('one\ntwo'));
    const text = take();
    expect(text).toContain('\u001b[2J');
    expect(text).toContain('one');
    expect([resized, screen.size().columns]).toEqual([1, 10]);
  });

  test('restores the terminal once, and writes nothing after that', () => {
    const { screen, tty, take } = terminal();
    take();
    screen.leave();
    screen.leave();
    screen.paint(frame('late'));
    screen.copy('late');
    expect(take()).toBe(LEAVE);
    expect(tty.listenerCount('resize')).toBe(0);
  });

  test('copies with OSC 52', () => {
    const { screen, take } = terminal();
    take();
    screen.copy('req_1');
    expect(take()).toBe(`\u001b]52;c;${Buffer.from('req_1').toString('base64')}\u0007`);
  });
});
