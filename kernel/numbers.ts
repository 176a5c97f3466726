import { allocate, allocateZeros, resize } from './memory';

const FIRST_BYTES: u32 = 1024;
const NUMBER_BITS: u32 = 2;

@unmanaged
export class Numbers {
  at: usize;
  length: u32;
  private bytes: u32;

  static create(): Numbers {
    const numbers = changetype<Numbers>(allocateZeros(offsetof<Numbers>()));
    numbers.bytes = FIRST_BYTES;
    numbers.at = allocate(FIRST_BYTES);
    return numbers;
  }

  get(index: u32): i32 {
    return numberAt(this.at, index);
  }

  set(index: u32, value: i32): void {
    setNumberAt(this.at, index, value);
  }

  push(value: i32): void {
    const length = this.length;
    if ((length + 1) << NUMBER_BITS > this.bytes) this.grow();
    this.set(length, value);
    this.length = length + 1;
  }

  push3(a: i32, b: i32, c: i32): void {
    const length = this.length;
    if ((length + 3) << NUMBER_BITS > this.bytes) this.grow();
    const at = this.at + (length << NUMBER_BITS);
    store<i32>(at, a);
    store<i32>(at, b, 4);
    store<i32>(at, c, 8);
    this.length = length + 3;
  }

  private grow(): void {
    this.at = resize(this.at, this.bytes, this.bytes * 2);
    this.bytes *= 2;
  }
}

export function numberAt(numbers: usize, index: u32): u32 {
  return load<u32>(numbers + (index << NUMBER_BITS));
}

export function setNumberAt(numbers: usize, index: u32, value: u32): void {
  store<u32>(numbers + (index << NUMBER_BITS), value);
}
