// Operand lists of 32, 64, 96 and 128 accumulators for wgmma.cuh: "%0, %1, ..." and "+f"(d[0]),
// "+f"(d[1]), ...
#pragma once

#define WGRAD_LIST_PART_0                                                  \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGRAD_LIST_PART_1                                                            \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGRAD_LIST_PART_2                                                            \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WGRAD_LIST_PART_3                                                                        \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WGRAD_LIST_32 WGRAD_LIST_PART_0
#define WGRAD_LIST_64 WGRAD_LIST_PART_0 ", " WGRAD_LIST_PART_1
#define WGRAD_LIST_96 WGRAD_LIST_PART_0 ", " WGRAD_LIST_PART_1 ", " WGRAD_LIST_PART_2
#define WGRAD_LIST_128 \
  WGRAD_LIST_PART_0 ", " WGRAD_LIST_PART_1 ", " WGRAD_LIST_PART_2 ", " WGRAD_LIST_PART_3

#define WGRAD_REGS_AT_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGRAD_REGS_AT_16(i) \
  WGRAD_REGS_AT_4(i), WGRAD_REGS_AT_4(i + 4), WGRAD_REGS_AT_4(i + 8), WGRAD_REGS_AT_4(i + 12)
#define WGRAD_REGS_32 WGRAD_REGS_AT_16(0), WGRAD_REGS_AT_16(16)
#define WGRAD_REGS_64 WGRAD_REGS_32, WGRAD_REGS_AT_16(32), WGRAD_REGS_AT_16(48)
#define WGRAD_REGS_96 WGRAD_REGS_64, WGRAD_REGS_AT_16(64), WGRAD_REGS_AT_16(80)
#define WGRAD_REGS_128 WGRAD_REGS_96, WGRAD_REGS_AT_16(96), WGRAD_REGS_AT_16(112)
