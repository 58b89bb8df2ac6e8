import { textLine } from '../../terminal/styled-lines.ts';
import { wrap } from '../../terminal/text.ts';
import type { Dialog } from '../state/dialog.ts';
import { topFor } from '../state/selection.ts';
import { type Area, section } from './lines.ts';

interface QuestionProps extends Area {
  dialog: Dialog;
}

/** A dialog. It replaces the panels, so that no moving content distracts from it. */
export function drawQuestion({ dialog, ...area }: QuestionProps): string[] {
  const { width, height, look } = area;
  const isOutput = dialog.kind === 'done' && dialog.result.output !== undefined;
  const lines = ['', ...linesOf(dialog, height - 4)].flatMap((line) =>
    isOutput ? textLine(` ${line}`, width, look) : wrap(line, width - 2).map((part) => ` ${part}`),
  );
  const keys = textLine(` ${keysOf(dialog)}`, width, look, look.palette.dim);
  return section({
    ...area,
    title: isOutput ? dialog.result.message : titleOf(dialog),
    lines: [...lines, '', keys],
  });
}

function titleOf({ kind }: Dialog): string {
  if (kind === 'done') return 'DONE';
  return kind === 'failed' ? 'NOT DONE' : 'CHANGE';
}

function linesOf(dialog: Dialog, room: number): string[] {
  switch (dialog.kind) {
    case 'choose': {
      const rows = Math.max(1, room - 2);
      const top = topFor(dialog.index, rows, dialog.options.length);
      const options = dialog.options.slice(top, top + rows);
      return [
        dialog.title,
        '',
        ...options.map(({ label }, i) => `${top + i === dialog.index ? '>' : ' '} ${label}`),
      ];
    }
    case 'amount':
      return [
        `New cap for ${dialog.budget.id}: $${dialog.text}_`,
        ...(dialog.problem === undefined ? [] : ['', `! ${dialog.problem}`]),
      ];
    case 'confirm':
      return [dialog.question];
    case 'working':
      return ['...'];
    case 'done':
      if (dialog.result.output) return dialog.result.output.slice(dialog.top, dialog.top + room);
      return [
        dialog.result.message,
        ...(dialog.result.secret === undefined
          ? []
          : ['', dialog.result.secret, '', 'Copy it now: gw will not show it again.']),
      ];
    case 'failed':
      return [`! ${dialog.message}`];
  }
}

function keysOf(dialog: Dialog): string {
  switch (dialog.kind) {
    case 'choose':
      return 'j/k move  enter choose  esc cancel';
    case 'amount':
      return 'enter continue  esc cancel';
    case 'confirm':
      return 'y yes  n no';
    case 'working':
      return '';
    case 'done':
      if (dialog.result.output) return 'j/k scroll  enter close';
      return dialog.result.secret === undefined ? 'enter close' : 'c copy  enter close';
    case 'failed':
      return 'any key closes this';
  }
}
