/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The symbols of libcuda.so.1 that calls.h lacks. Together they are all that CUDA 13.0's driver
 * exports, and what newer ones are known to add. So a program that resolves every symbol at its
 * start finds them all.
 */
#ifndef SOFTCUDA_DRIVER_SYMBOLS_H
#define SOFTCUDA_DRIVER_SYMBOLS_H

#include <stdbool.h>

/* Whether `name` is `base`, with or without the suffix of a version: _v2, _v3. */
bool sd_is_form_of(const char *name, const char *base);

/*
 * X(symbol, implementation, since): other names with the same signature: older ones, and those of
 * programs compiled for per-thread default streams (_ptds, _ptsz). In the latter stream 0 is the
 * legacy stream here: its order is stricter, and so correct for programs that expect less order.
 * `since` is the CUDA version that introduced the form, as in driver_calls.h; cuGetProcAddress goes
 * by it.
 */
#define SD_OTHER_NAMES(X) \
    X(cuCtxCreate, cuCtxCreate_v2, 2000) \
    X(cuCtxDestroy, cuCtxDestroy_v2, 2000) \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 2000) \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 2000) \
    X(cuEventDestroy, cuEventDestroy_v2, 2000) \
    X(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams, 12000) \
    X(cuGraphUpload_ptsz, cuGraphUpload, 11010) \
    X(cuGraphLaunch_ptsz, cuGraphLaunch, 10000) \
    X(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags, 11010) \
    X(cuEventRecord_ptsz, cuEventRecord, 2000) \
    X(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel, 9000) \
    X(cuLaunchHostFunc_ptsz, cuLaunchHostFunc, 10000) \
    X(cuLaunchKernelEx_ptsz, cuLaunchKernelEx, 11060) \
    X(cuLaunchKernel_ptsz, cuLaunchKernel, 4000) \
    X(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020) \
    X(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020) \
    X(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020) \
    X(cuMemHostRegister, cuMemHostRegister_v2, 4000) \
    X(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync, 8000) \
    X(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2, 12020) \
    X(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2, 3020) \
    X(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2, 3020) \
    X(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2, 3020) \
    X(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2, 3020) \
    X(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync, 4000) \
    X(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync, 12080) \
    X(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync_v2, 13000) \
    X(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer, 4000) \
    X(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2, 3020) \
    X(cuMemcpyAsync_ptsz, cuMemcpyAsync, 4000) \
    X(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2, 3020) \
    X(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2, 3020) \
    X(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2, 3020) \
    X(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2, 3020) \
    X(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2, 3020) \
    X(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2, 3020) \
    X(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync, 4000) \
    X(cuMemcpyPeer_ptds, cuMemcpyPeer, 4000) \
    X(cuMemcpy_ptds, cuMemcpy, 4000) \
    X(cuMemsetD16Async_ptsz, cuMemsetD16Async, 3020) \
    X(cuMemsetD16_v2_ptds, cuMemsetD16_v2, 3020) \
    X(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async, 3020) \
    X(cuMemsetD2D16_v2_ptds, cuMemsetD2D16_v2, 3020) \
    X(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async, 3020) \
    X(cuMemsetD2D32_v2_ptds, cuMemsetD2D32_v2, 3020) \
    X(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async, 3020) \
    X(cuMemsetD2D8_v2_ptds, cuMemsetD2D8_v2, 3020) \
    X(cuMemsetD32Async_ptsz, cuMemsetD32Async, 3020) \
    X(cuMemsetD32_v2_ptds, cuMemsetD32_v2, 3020) \
    X(cuMemsetD8Async_ptsz, cuMemsetD8Async, 3020) \
    X(cuMemsetD8_v2_ptds, cuMemsetD8_v2, 3020) \
    X(cuStreamAddCallback_ptsz, cuStreamAddCallback, 5000) \
    X(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync, 6000) \
    X(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2, 10010) \
    X(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes, 11000) \
    X(cuStreamDestroy, cuStreamDestroy_v2, 2000) \
    X(cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000) \
    X(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2, 11030) \
    X(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3, 12030) \
    X(cuStreamGetCtx_ptsz, cuStreamGetCtx, 9020) \
    X(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2, 12050) \
    X(cuStreamGetDevice_ptsz, cuStreamGetDevice, 12080) \
    X(cuStreamGetFlags_ptsz, cuStreamGetFlags, 5050) \
    X(cuStreamGetId_ptsz, cuStreamGetId, 12000) \
    X(cuStreamGetPriority_ptsz, cuStreamGetPriority, 5050) \
    X(cuStreamIsCapturing_ptsz, cuStreamIsCapturing, 10000) \
    X(cuStreamQuery_ptsz, cuStreamQuery, 2000) \
    X(cuStreamSynchronize_ptsz, cuStreamSynchronize, 2000) \
    X(cuStreamWaitEvent_ptsz, cuStreamWaitEvent, 3020) \
    X(cuStreamWaitValue32, cuStreamWaitValue32_v2, 8000) \
    X(cuStreamWaitValue32_ptsz, cuStreamWaitValue32_v2, 8000) \
    X(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32_v2, 11070) \
    X(cuStreamWaitValue64, cuStreamWaitValue64_v2, 9000) \
    X(cuStreamWaitValue64_ptsz, cuStreamWaitValue64_v2, 9000) \
    X(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64_v2, 11070) \
    X(cuStreamWriteValue32, cuStreamWriteValue32_v2, 8000) \
    X(cuStreamWriteValue32_ptsz, cuStreamWriteValue32_v2, 8000) \
    X(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2, 11070) \
    X(cuStreamWriteValue64, cuStreamWriteValue64_v2, 9000) \
    X(cuStreamWriteValue64_ptsz, cuStreamWriteValue64_v2, 9000) \
    X(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2, 11070)

/* X(symbol, since): answers CUDA_ERROR_NOT_SUPPORTED. */
#define SD_NOT_SUPPORTED(X) \
    X(cuArray3DCreate, 2000) \
    X(cuArray3DCreate_v2, 3020) \
    X(cuArray3DGetDescriptor, 2000) \
    X(cuArray3DGetDescriptor_v2, 3020) \
    X(cuArrayCreate, 2000) \
    X(cuArrayCreate_v2, 3020) \
    X(cuArrayDestroy, 2000) \
    X(cuArrayGetDescriptor, 2000) \
    X(cuArrayGetDescriptor_v2, 3020) \
    X(cuArrayGetMemoryRequirements, 11060) \
    X(cuArrayGetPlane, 11020) \
    X(cuArrayGetSparseProperties, 11010) \
    X(cuCheckpointProcessCheckpoint, 12080) \
    X(cuCheckpointProcessGetRestoreThreadId, 12080) \
    X(cuCheckpointProcessGetState, 12080) \
    X(cuCheckpointProcessLock, 12080) \
    X(cuCheckpointProcessRestore, 12080) \
    X(cuCheckpointProcessUnlock, 12080) \
    X(cuCoredumpDeregisterCompleteCallback, 13020) \
    X(cuCoredumpDeregisterStartCallback, 13020) \
    X(cuCoredumpGetAttribute, 12010) \
    X(cuCoredumpGetAttributeGlobal, 12010) \
    X(cuCoredumpRegisterCompleteCallback, 13020) \
    X(cuCoredumpRegisterStartCallback, 13020) \
    X(cuCoredumpSetAttribute, 12010) \
    X(cuCoredumpSetAttributeGlobal, 12010) \
    X(cuCtxAttach, 2000) \
    X(cuCtxDetach, 2000) \
    X(cuCtxFromGreenCtx, 12040) \
    X(cuCtxGetDevResource, 12040) \
    X(cuCtxGetExecAffinity, 11040) \
    X(cuCtxRecordEvent, 12050) \
    X(cuCtxWaitEvent, 12050) \
    X(cuDestroyExternalSemaphore, 10000) \
    X(cuDevResourceGenerateDesc, 12040) \
    X(cuDevSmResourceSplit, 13010) \
    X(cuDevSmResourceSplitByCount, 12040) \
    X(cuDeviceGetDevResource, 12040) \
    X(cuDeviceGetGraphMemAttribute, 11040) \
    X(cuDeviceGetHostAtomicCapabilities, 13000) \
    X(cuDeviceGetLuid, 10000) \
    X(cuDeviceGetNvSciSyncAttributes, 10020) \
    X(cuDeviceGetP2PAtomicCapabilities, 13000) \
    X(cuDeviceGetProperties, 2000) \
    X(cuDeviceGetTexture1DLinearMaxWidth, 11010) \
    X(cuDeviceGraphMemTrim, 11040) \
    X(cuDeviceRegisterAsyncNotification, 12040) \
    X(cuDeviceSetGraphMemAttribute, 11040) \
    X(cuDeviceTotalMem, 2000) \
    X(cuDeviceUnregisterAsyncNotification, 12040) \
    X(cuExternalMemoryGetMappedMipmappedArray, 10000) \
    X(cuFlushGPUDirectRDMAWrites, 11030) \
    X(cuFuncGetParamCount, 13020) \
    X(cuFuncSetBlockShape, 2000) \
    X(cuFuncSetSharedSize, 2000) \
    X(cuGraphAddBatchMemOpNode, 11070) \
    X(cuGraphAddExternalSemaphoresSignalNode, 11020) \
    X(cuGraphAddExternalSemaphoresWaitNode, 11020) \
    X(cuGraphAddMemAllocNode, 11040) \
    X(cuGraphAddMemFreeNode, 11040) \
    X(cuGraphAddNode, 12020) \
    X(cuGraphAddNode_v2, 12030) \
    X(cuGraphBatchMemOpNodeGetParams, 11070) \
    X(cuGraphBatchMemOpNodeSetParams, 11070) \
    X(cuGraphChildGraphNodeGetGraph, 10000) \
    X(cuGraphConditionalHandleCreate, 12030) \
    X(cuGraphDebugDotPrint, 11030) \
    X(cuGraphDestroyNode, 10000) \
    X(cuGraphEventRecordNodeGetEvent, 11010) \
    X(cuGraphEventRecordNodeSetEvent, 11010) \
    X(cuGraphEventWaitNodeGetEvent, 11010) \
    X(cuGraphEventWaitNodeSetEvent, 11010) \
    X(cuGraphExecBatchMemOpNodeSetParams, 11070) \
    X(cuGraphExecEventRecordNodeSetEvent, 11010) \
    X(cuGraphExecEventWaitNodeSetEvent, 11010) \
    X(cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020) \
    X(cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020) \
    X(cuGraphExecGetFlags, 12000) \
    X(cuGraphExecGetId, 13010) \
    X(cuGraphExecNodeSetParams, 12020) \
    X(cuGraphExternalSemaphoresSignalNodeGetParams, 11020) \
    X(cuGraphExternalSemaphoresSignalNodeSetParams, 11020) \
    X(cuGraphExternalSemaphoresWaitNodeGetParams, 11020) \
    X(cuGraphExternalSemaphoresWaitNodeSetParams, 11020) \
    X(cuGraphGetId, 13010) \
    X(cuGraphHostNodeGetParams, 10000) \
    X(cuGraphHostNodeSetParams, 10000) \
    X(cuGraphInstantiate, 10000) \
    X(cuGraphInstantiate_v2, 11000) \
    X(cuGraphKernelNodeCopyAttributes, 11000) \
    X(cuGraphKernelNodeGetParams, 10000) \
    X(cuGraphKernelNodeGetParams_v2, 12000) \
    X(cuGraphMemAllocNodeGetParams, 11040) \
    X(cuGraphMemFreeNodeGetParams, 11040) \
    X(cuGraphMemcpyNodeGetParams, 10000) \
    X(cuGraphMemcpyNodeSetParams, 10000) \
    X(cuGraphMemsetNodeGetParams, 10000) \
    X(cuGraphMemsetNodeSetParams, 10000) \
    X(cuGraphNodeFindInClone, 10000) \
    X(cuGraphNodeGetContainingGraph, 13010) \
    X(cuGraphNodeGetDependencies, 10000) \
    X(cuGraphNodeGetDependencies_v2, 12030) \
    X(cuGraphNodeGetDependentNodes, 10000) \
    X(cuGraphNodeGetDependentNodes_v2, 12030) \
    X(cuGraphNodeGetEnabled, 11060) \
    X(cuGraphNodeGetLocalId, 13010) \
    X(cuGraphNodeGetParams, 13020) \
    X(cuGraphNodeGetToolsId, 13010) \
    X(cuGraphNodeSetParams, 12020) \
    X(cuGraphReleaseUserObject, 11030) \
    X(cuGraphRemoveDependencies, 10000) \
    X(cuGraphRemoveDependencies_v2, 12030) \
    X(cuGraphRetainUserObject, 11030) \
    X(cuGraphicsMapResources, 3000) \
    X(cuGraphicsMapResources_ptsz, 3000) \
    X(cuGraphicsResourceGetMappedMipmappedArray, 5000) \
    X(cuGraphicsResourceGetMappedPointer, 3000) \
    X(cuGraphicsResourceGetMappedPointer_v2, 3020) \
    X(cuGraphicsResourceSetMapFlags, 3000) \
    X(cuGraphicsResourceSetMapFlags_v2, 6050) \
    X(cuGraphicsSubResourceGetMappedArray, 3000) \
    X(cuGraphicsUnmapResources, 3000) \
    X(cuGraphicsUnmapResources_ptsz, 3000) \
    X(cuGraphicsUnregisterResource, 3000) \
    X(cuGreenCtxCreate, 12040) \
    X(cuGreenCtxDestroy, 12040) \
    X(cuGreenCtxGetDevResource, 12040) \
    X(cuGreenCtxGetId, 12090) \
    X(cuGreenCtxRecordEvent, 12040) \
    X(cuGreenCtxStreamCreate, 12050) \
    X(cuGreenCtxWaitEvent, 12040) \
    X(cuImportExternalSemaphore, 10000) \
    X(cuIpcCloseMemHandle, 4010) \
    X(cuIpcGetEventHandle, 4010) \
    X(cuIpcGetMemHandle, 4010) \
    X(cuIpcOpenEventHandle, 4010) \
    X(cuIpcOpenMemHandle, 4010) \
    X(cuIpcOpenMemHandle_v2, 11000) \
    X(cuKernelGetParamCount, 13020) \
    X(cuLaunch, 2000) \
    X(cuLaunchCooperativeKernelMultiDevice, 9000) \
    X(cuLaunchGrid, 2000) \
    X(cuLaunchGridAsync, 2000) \
    X(cuLibraryGetManaged, 12000) \
    X(cuLibraryGetUnifiedFunction, 12000) \
    X(cuLinkAddData, 5050) \
    X(cuLinkAddFile, 5050) \
    X(cuLinkCreate, 5050) \
    X(cuLogsCurrent, 12090) \
    X(cuLogsDumpToFile, 12090) \
    X(cuLogsDumpToMemory, 12090) \
    X(cuLogsRegisterCallback, 12090) \
    X(cuLogsUnregisterCallback, 12090) \
    X(cuMemAlloc, 2000) \
    X(cuMemAllocHost, 2000) \
    X(cuMemAllocPitch, 2000) \
    X(cuMemBatchDecompressAsync, 12060) \
    X(cuMemBatchDecompressAsync_ptsz, 12060) \
    X(cuMemDiscardAndPrefetchBatchAsync, 13000) \
    X(cuMemDiscardAndPrefetchBatchAsync_ptsz, 13000) \
    X(cuMemDiscardBatchAsync, 13000) \
    X(cuMemDiscardBatchAsync_ptsz, 13000) \
    X(cuMemFree, 2000) \
    X(cuMemGetAccess, 10020) \
    X(cuMemGetAddressRange, 2000) \
    X(cuMemGetAllocationPropertiesFromHandle, 10020) \
    X(cuMemGetDefaultMemPool, 13000) \
    X(cuMemGetHandleForAddressRange, 11070) \
    X(cuMemGetInfo, 2000) \
    X(cuMemGetMemPool, 13000) \
    X(cuMemHostGetDevicePointer, 2020) \
    X(cuMemMapArrayAsync, 11010) \
    X(cuMemMapArrayAsync_ptsz, 11010) \
    X(cuMemPoolExportPointer, 11020) \
    X(cuMemPoolExportToShareableHandle, 11020) \
    X(cuMemPoolImportFromShareableHandle, 11020) \
    X(cuMemPoolImportPointer, 11020) \
    X(cuMemPrefetchBatchAsync, 13000) \
    X(cuMemPrefetchBatchAsync_ptsz, 13000) \
    X(cuMemRangeGetAttribute, 8000) \
    X(cuMemRangeGetAttributes, 8000) \
    X(cuMemRetainAllocationHandle, 11000) \
    X(cuMemSetMemPool, 13000) \
    X(cuMemcpy2D, 2000) \
    X(cuMemcpy2DAsync, 2000) \
    X(cuMemcpy2DUnaligned, 2000) \
    X(cuMemcpy3D, 2000) \
    X(cuMemcpy3DAsync, 2000) \
    X(cuMemcpy3DBatchAsync, 12080) \
    X(cuMemcpy3DBatchAsync_ptsz, 12080) \
    X(cuMemcpy3DBatchAsync_v2, 13000) \
    X(cuMemcpy3DBatchAsync_v2_ptsz, 13000) \
    X(cuMemcpy3DWithAttributesAsync, 13020) \
    X(cuMemcpyAtoA, 2000) \
    X(cuMemcpyAtoA_v2, 3020) \
    X(cuMemcpyAtoA_v2_ptds, 3020) \
    X(cuMemcpyAtoD, 2000) \
    X(cuMemcpyAtoD_v2, 3020) \
    X(cuMemcpyAtoD_v2_ptds, 3020) \
    X(cuMemcpyAtoH, 2000) \
    X(cuMemcpyAtoHAsync, 2000) \
    X(cuMemcpyAtoHAsync_v2, 3020) \
    X(cuMemcpyAtoHAsync_v2_ptsz, 3020) \
    X(cuMemcpyAtoH_v2, 3020) \
    X(cuMemcpyAtoH_v2_ptds, 3020) \
    X(cuMemcpyDtoA, 2000) \
    X(cuMemcpyDtoA_v2, 3020) \
    X(cuMemcpyDtoA_v2_ptds, 3020) \
    X(cuMemcpyDtoD, 2000) \
    X(cuMemcpyDtoDAsync, 3000) \
    X(cuMemcpyDtoH, 2000) \
    X(cuMemcpyDtoHAsync, 2000) \
    X(cuMemcpyHtoA, 2000) \
    X(cuMemcpyHtoAAsync, 2000) \
    X(cuMemcpyHtoAAsync_v2, 3020) \
    X(cuMemcpyHtoAAsync_v2_ptsz, 3020) \
    X(cuMemcpyHtoA_v2, 3020) \
    X(cuMemcpyHtoA_v2_ptds, 3020) \
    X(cuMemcpyHtoD, 2000) \
    X(cuMemcpyHtoDAsync, 2000) \
    X(cuMemcpyWithAttributesAsync, 13020) \
    X(cuMemsetD16, 2000) \
    X(cuMemsetD2D16, 2000) \
    X(cuMemsetD2D32, 2000) \
    X(cuMemsetD2D8, 2000) \
    X(cuMemsetD32, 2000) \
    X(cuMemsetD8, 2000) \
    X(cuMipmappedArrayCreate, 5000) \
    X(cuMipmappedArrayDestroy, 5000) \
    X(cuMipmappedArrayGetLevel, 5000) \
    X(cuMipmappedArrayGetMemoryRequirements, 11060) \
    X(cuMipmappedArrayGetSparseProperties, 11010) \
    X(cuModuleGetGlobal, 2000) \
    X(cuModuleGetSurfRef, 3000) \
    X(cuModuleGetTexRef, 2000) \
    X(cuMulticastAddDevice, 12010) \
    X(cuMulticastBindAddr, 12010) \
    X(cuMulticastBindAddr_v2, 13010) \
    X(cuMulticastBindMem, 12010) \
    X(cuMulticastBindMem_v2, 13010) \
    X(cuMulticastCreate, 12010) \
    X(cuMulticastGetGranularity, 12010) \
    X(cuMulticastUnbind, 12010) \
    X(cuParamSetSize, 2000) \
    X(cuParamSetTexRef, 2000) \
    X(cuParamSetf, 2000) \
    X(cuParamSeti, 2000) \
    X(cuParamSetv, 2000) \
    X(cuProfilerInitialize, 4000) \
    X(cuSignalExternalSemaphoresAsync, 10000) \
    X(cuSignalExternalSemaphoresAsync_ptsz, 10000) \
    X(cuStreamBatchMemOp, 8000) \
    X(cuStreamBatchMemOp_ptsz, 8000) \
    X(cuStreamBatchMemOp_v2, 11070) \
    X(cuStreamBatchMemOp_v2_ptsz, 11070) \
    X(cuStreamBeginCapture, 10000) \
    X(cuStreamBeginCaptureToCig, 13010) \
    X(cuStreamBeginCaptureToGraph, 12030) \
    X(cuStreamBeginCaptureToGraph_ptsz, 12030) \
    X(cuStreamBeginCapture_ptsz, 10000) \
    X(cuStreamBeginRecaptureToGraph, 13030) \
    X(cuStreamEndCaptureToCig, 13010) \
    X(cuStreamGetAttribute, 11000) \
    X(cuStreamGetAttribute_ptsz, 11000) \
    X(cuStreamGetCaptureInfo, 10010) \
    X(cuStreamGetCaptureInfo_ptsz, 10010) \
    X(cuStreamGetDevResource, 13010) \
    X(cuStreamGetGreenCtx, 12040) \
    X(cuStreamSetAttribute, 11000) \
    X(cuStreamSetAttribute_ptsz, 11000) \
    X(cuStreamUpdateCaptureDependencies, 11030) \
    X(cuStreamUpdateCaptureDependencies_ptsz, 11030) \
    X(cuStreamUpdateCaptureDependencies_v2, 12030) \
    X(cuStreamUpdateCaptureDependencies_v2_ptsz, 12030) \
    X(cuSurfObjectCreate, 5000) \
    X(cuSurfObjectDestroy, 5000) \
    X(cuSurfObjectGetResourceDesc, 5000) \
    X(cuSurfRefGetArray, 3000) \
    X(cuSurfRefSetArray, 3000) \
    X(cuTensorMapEncodeIm2col, 12000) \
    X(cuTensorMapEncodeIm2colWide, 12080) \
    X(cuTensorMapEncodeTiled, 12000) \
    X(cuTensorMapReplaceAddress, 12000) \
    X(cuTexObjectCreate, 5000) \
    X(cuTexObjectDestroy, 5000) \
    X(cuTexObjectGetResourceDesc, 5000) \
    X(cuTexObjectGetResourceViewDesc, 5000) \
    X(cuTexObjectGetTextureDesc, 5000) \
    X(cuTexRefCreate, 2000) \
    X(cuTexRefDestroy, 2000) \
    X(cuTexRefGetAddress, 2000) \
    X(cuTexRefGetAddressMode, 2000) \
    X(cuTexRefGetAddress_v2, 3020) \
    X(cuTexRefGetArray, 2000) \
    X(cuTexRefGetBorderColor, 8000) \
    X(cuTexRefGetFilterMode, 2000) \
    X(cuTexRefGetFlags, 2000) \
    X(cuTexRefGetFormat, 2000) \
    X(cuTexRefGetMaxAnisotropy, 5000) \
    X(cuTexRefGetMipmapFilterMode, 5000) \
    X(cuTexRefGetMipmapLevelBias, 5000) \
    X(cuTexRefGetMipmapLevelClamp, 5000) \
    X(cuTexRefGetMipmappedArray, 5000) \
    X(cuTexRefSetAddress, 2000) \
    X(cuTexRefSetAddress2D, 2020) \
    X(cuTexRefSetAddress2D_v2, 3020) \
    X(cuTexRefSetAddress2D_v3, 4010) \
    X(cuTexRefSetAddressMode, 2000) \
    X(cuTexRefSetAddress_v2, 3020) \
    X(cuTexRefSetArray, 2000) \
    X(cuTexRefSetBorderColor, 8000) \
    X(cuTexRefSetFilterMode, 2000) \
    X(cuTexRefSetFlags, 2000) \
    X(cuTexRefSetFormat, 2000) \
    X(cuTexRefSetMaxAnisotropy, 5000) \
    X(cuTexRefSetMipmapFilterMode, 5000) \
    X(cuTexRefSetMipmapLevelBias, 5000) \
    X(cuTexRefSetMipmapLevelClamp, 5000) \
    X(cuTexRefSetMipmappedArray, 5000) \
    X(cuUserObjectCreate, 11030) \
    X(cuUserObjectRelease, 11030) \
    X(cuUserObjectRetain, 11030) \
    X(cuWaitExternalSemaphoresAsync, 10000) \
    X(cuWaitExternalSemaphoresAsync_ptsz, 10000) \
    X(cuEGLStreamConsumerAcquireFrame, 7000) \
    X(cuEGLStreamConsumerConnect, 7000) \
    X(cuEGLStreamConsumerConnectWithFlags, 8000) \
    X(cuEGLStreamConsumerDisconnect, 7000) \
    X(cuEGLStreamConsumerReleaseFrame, 7000) \
    X(cuEGLStreamProducerConnect, 7000) \
    X(cuEGLStreamProducerDisconnect, 7000) \
    X(cuEGLStreamProducerPresentFrame, 7000) \
    X(cuEGLStreamProducerReturnFrame, 7000) \
    X(cuGLCtxCreate, 2000) \
    X(cuGLCtxCreate_v2, 3020) \
    X(cuGLGetDevices, 4010) \
    X(cuGLGetDevices_v2, 6050) \
    X(cuGLInit, 2000) \
    X(cuGLMapBufferObject, 2000) \
    X(cuGLMapBufferObjectAsync, 2030) \
    X(cuGLMapBufferObjectAsync_v2, 3020) \
    X(cuGLMapBufferObjectAsync_v2_ptsz, 3020) \
    X(cuGLMapBufferObject_v2, 3020) \
    X(cuGLMapBufferObject_v2_ptds, 3020) \
    X(cuGLRegisterBufferObject, 2000) \
    X(cuGLSetBufferObjectMapFlags, 2030) \
    X(cuGLUnmapBufferObject, 2000) \
    X(cuGLUnmapBufferObjectAsync, 2030) \
    X(cuGLUnregisterBufferObject, 2000) \
    X(cuGraphicsEGLRegisterImage, 7000) \
    X(cuGraphicsGLRegisterBuffer, 3000) \
    X(cuGraphicsGLRegisterImage, 3000) \
    X(cuGraphicsResourceGetMappedEglFrame, 7000) \
    X(cuGraphicsVDPAURegisterOutputSurface, 3010) \
    X(cuGraphicsVDPAURegisterVideoSurface, 3010) \
    X(cuVDPAUCtxCreate, 3010) \
    X(cuVDPAUCtxCreate_v2, 3020) \
    X(cuVDPAUGetDevice, 3010) \
    X(cuEventCreateFromEGLSync, 9000)

#endif
