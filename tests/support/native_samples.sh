#!/bin/sh
# native_samples.sh CC OBJCOPY SOURCE OUTDIR: the ELF files of test_native_dso.
set -e
cc=$1 objcopy=$2 source=$3 out=$4
mkdir -p "$out"
cd "$out"
# Without build-id: the CRC of .gnu_debuglink has to do. With: the id decides.
for id in none sha1; do
	$cc -g -O1 -fPIC -shared -Wl,--build-id=$id,-z,lazy "$source" -o full_$id.so
	$objcopy --only-keep-debug --compress-debug-sections full_$id.so full_$id.debug
	$objcopy --strip-all --add-gnu-debuglink=full_$id.debug full_$id.so stripped_$id.so
done
$cc -g -O1 -fPIC -shared -fcf-protection=full -Wl,--build-id=none,-z,lazy,-z,ibtplt "$source" -o ibt.so
# Call frame information in .debug_frame alone: in the file, compressed in three ways, in a debug file.
# objcopy leaves a section as it is if that is shorter, so there are many functions.
for i in $(seq 100); do echo "int filler_$i(int a); int filler_$i(int a) { return a * $i; }"; done > filler.c
$cc -g -O1 -fPIC -shared -fno-asynchronous-unwind-tables -fno-unwind-tables -Wl,--build-id=none "$source" filler.c -o frame.so
$objcopy --compress-debug-sections=zlib frame.so frame_zlib.so
$objcopy --compress-debug-sections=zlib-gnu frame.so frame_gnu.so
$objcopy --compress-debug-sections=zstd frame.so frame_zstd.so
$objcopy --only-keep-debug --compress-debug-sections frame.so frame.debug
$objcopy --strip-all --add-gnu-debuglink=frame.debug frame.so frame_stripped.so
$objcopy --compress-debug-sections=zstd full_none.so full_zstd.so
$objcopy --strip-debug full_none.so nodebug.so
$objcopy --strip-all full_none.so bare.so
