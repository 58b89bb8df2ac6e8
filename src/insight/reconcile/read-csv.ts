import { parse } from 'csv-parse/sync';
import {
  amountOf,
  BillError,
  type BillLine,
  type CsvColumns,
  checkCurrency,
  dayOf,
  modelOfLineItem,
} from './reports.ts';

/** Parses a provider's CSV export. Finds the columns by name. Throws BillError. */
export function readCsv(text: string, columns: CsvColumns): BillLine[] {
  let header: string[] = [];
  const rows = parseCsv(text, (names) => {
    header = names.map((name) => name.trim().toLowerCase());
    return header;
  });
  const [day, model, amount] = [columns.day, columns.model, columns.amount].map((names) =>
    names.find((name) => header.includes(name)),
  );
  if (day === undefined || model === undefined || amount === undefined) {
    const missing = day === undefined ? columns.day : model === undefined ? columns.model : columns.amount;
    throw new BillError(`no column ${missing.join(' or ')}; its columns are ${header.join(', ') || 'none'}`);
  }
  const otherModels = columns.model.filter((name) => header.includes(name));
  return rows.map(({ record, info }) => {
    const date = dayOf(record[day] ?? '');
    if (date === undefined)
      throw new BillError(`line ${info.lines}: ${day} is "${record[day] ?? ''}", not a day`);
    checkCurrency(record.amount_currency ?? record.currency);
    const name = otherModels.map((each) => record[each]).find((each) => each) ?? 'other';
    return { day: date, model: modelOfLineItem(name), nanoUsd: amountAt(record[amount], info.lines) };
  });
}

interface Row {
  record: Record<string, string>;
  info: { lines: number };
}

function parseCsv(text: string, columns: (names: string[]) => string[]): Row[] {
  try {
    return parse(text, {
      bom: true,
      columns,
      info: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as Row[];
  } catch (error) {
    throw new BillError(`not a CSV file: ${(error as Error).message}`);
  }
}

function amountAt(value: unknown, line: number): number {
  try {
    return value === '' ? 0 : amountOf(value);
  } catch (error) {
    throw new BillError(`line ${line}: ${(error as Error).message}`);
  }
}
